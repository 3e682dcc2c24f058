"""For tests, ours and others': honest stand-ins for the things Devplane talks to.

Nothing here imports the rest of Devplane, so that a scripted agent starts as fast
as Python does and cannot pass a test by sharing code with what it tests.
"""
