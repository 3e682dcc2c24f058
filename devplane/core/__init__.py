"""The pure core: facts, the lives they make, and the wishes that follow. No clock, disk, process or wait."""
