"""Run the scripted model server until interrupted: ``python -m conformance.model_stub --log requests.jsonl``.

Prints its address first. The prompt that reaches it carries the script; see
`conformance.script`. In a test use `serving` instead.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from conformance.stub.server import StubServer, serving

__all__ = ["StubServer", "serving"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="a free one unless given")
    parser.add_argument("--log", type=Path, help="file that gets each request as a JSON line")
    arguments = parser.parse_args()
    ending = {signal.SIGINT, signal.SIGTERM}
    # Before the server's threads start: they inherit what is blocked.
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    with serving(arguments.port, arguments.log) as server:
        print(server.url, flush=True)
        signal.sigwait(ending)


if __name__ == "__main__":
    main()
