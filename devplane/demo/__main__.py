"""``python -m devplane.demo``."""

from __future__ import annotations

from devplane.demo.agent import main

main()
