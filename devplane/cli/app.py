from __future__ import annotations

import os
import sys


def run() -> None:
    from devplane.daemon.main import serve
    from devplane.paths import Home

    serve(Home.find(os.environ), ready_fd=int(sys.argv[3]) if len(sys.argv) > 3 else None)
