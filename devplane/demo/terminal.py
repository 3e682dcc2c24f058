"""``python -m devplane.demo --session ID``: the demo agent's terminal program, on a session that it kept."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator

from devplane.core.text import one_line, visible
from devplane.demo.disk import DiskShelf, state_folder
from devplane.testing.shelf import Session, text_block

SPEAKERS = {"user_message_chunk": "you ▸ ", "agent_message_chunk": "demo ▸ "}
"""What stands before the words of each; what is no speech is not shown."""
INTERRUPTED = 130


def main(session_id: str) -> int:
    """Show the conversation, then answer each line of stdin until it ends; return the exit status."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    shelf = DiskShelf(state_folder(os.environ))
    session = shelf.find(session_id)
    if session is None:
        sys.stderr.write(f"devplane-demo: there is no session {one_line(session_id, 80) or '(no id)'}\n")
        return 1
    for line in conversation(session):
        sys.stdout.write(line + "\n")
    try:
        for text in _typed():
            sys.stdout.write(f"{SPEAKERS['agent_message_chunk']}{visible(answer(shelf, session, text))}\n")
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def conversation(session: Session) -> Iterator[str]:
    """Yield each message of the session, with who said it."""
    for update in session.updates:
        speaker = SPEAKERS.get(update.get("sessionUpdate", ""))
        if speaker is not None:
            yield speaker + visible(update["content"].get("text", "").strip())


def answer(shelf: DiskShelf, session: Session, text: str) -> str:
    """Return what the demo says to `text`; both are kept in the session."""
    shelf.keep(session, {"prompt": text})
    number = len(session.prompts)
    said = f"This is turn {number}, typed in the terminal. You said: {text}"
    update = {"sessionUpdate": "agent_message_chunk", "content": text_block(said)}
    shelf.keep(session, {"update": {**update, "messageId": f"terminal-{number}"}})
    return said


def _typed() -> Iterator[str]:
    while True:
        if sys.stdin.isatty():
            sys.stdout.write(SPEAKERS["user_message_chunk"])
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()
