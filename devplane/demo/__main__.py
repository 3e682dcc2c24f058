"""``python -m devplane.demo``."""

from __future__ import annotations

import sys

if len(sys.argv) == 3 and sys.argv[1] == "--session":
    from devplane.demo import terminal

    sys.exit(terminal.main(sys.argv[2]))

from devplane.demo import agent

agent.main()
