"""The ``devplane`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Before the command line's library is loaded: scripts ask this often.
        from devplane import __version__

        print(f"devplane {__version__}")
        return
    from devplane.cli.app import run

    run()


if __name__ == "__main__":
    main()
