"""What the demo can do in a turn: pace itself, run a command, write a file. The mode decides who is asked."""

from __future__ import annotations

import errno
import os

from devplane.demo.shell import Shell
from devplane.testing.turn import Tool, Turn, TurnCancelled, diff

FILE_NAME = "devplane-demo.txt"

CONTEXT_SIZE = 32_000
TOKEN_PRICE_USD = {"demo-small": 0.000_002, "demo-large": 0.000_02}
"""Made up, so that a newcomer sees what cost looks like."""


class Pace:
    """Pauses between chunks, so that the tour looks alive; the speed divides them, 0 removes them."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        try:
            self._speed = float(os.environ.get("DEVPLANE_DEMO_SPEED") or 1)
        except ValueError:
            self._speed = 1.0

    def pause(self, seconds: float) -> None:
        """Wait, or leave the turn when it is cancelled."""
        self._turn.wait(seconds / self._speed if self._speed > 0 else 0)

    def say(self, text: str) -> None:
        """Say `text` a few words at a time."""
        for piece in _pieces(text):
            self.pause(0.04)
            self._turn.say(piece)

    def think(self, text: str) -> None:
        for piece in _pieces(text):
            self.pause(0.04)
            self._turn.think(piece)


def _pieces(text: str, words: int = 3) -> list[str]:
    """Cut `text` every few words; the pieces joined are `text` again."""
    parts = [part + " " for part in text.split(" ")]
    parts[-1] = parts[-1][:-1]
    return ["".join(parts[i : i + words]) for i in range(0, len(parts), words)]


def run_command(turn: Turn, shell: Shell, command: str) -> bool:
    """Run `command` if the mode or the person allows it; return whether it ran and succeeded."""
    tool = turn.tool(command, "execute", rawInput={"command": command})
    if not is_allowed(turn, tool, grant=f"run {command}"):
        return False
    tool.update(status="in_progress")
    status, output = shell.run(turn, command)
    if turn.is_cancelled:
        tool.finish(output + "\n(ended: the turn was cancelled)", status="failed")
        raise TurnCancelled
    shown = output or "(no output)"
    if status:
        shown += f"\n(exit status {status})" if status > 0 else f"\n(ended by signal {-status})"
    raw = {"exitCode": status, "output": output}
    tool.finish(shown, status="failed" if status else "completed", rawOutput=raw)
    return status == 0


def write_file(turn: Turn) -> bool:
    """Write the demo's file if the mode or the person allows it; return whether it was written."""
    path = os.path.join(turn.session.cwd, FILE_NAME)
    try:
        old = _read(path)
        new = (old or "") + f"Written by devplane-demo in turn {turn.number}.\n"
        tool = turn.tool(
            f"{'Write' if old is None else 'Edit'} {FILE_NAME}",
            "edit",
            rawInput={"file_path": path, "content": new},
            content=[diff(path, old, new)],
            locations=[{"path": path}],
        )
        if not is_allowed(turn, tool, grant="edit"):
            return False
        tool.update(status="in_progress")
        _write(path, new)
    except OSError as error:
        turn.say(f"I could not write {FILE_NAME}: {error.strerror}.")
        return False
    tool.update(status="completed")
    return True


def is_allowed(turn: Turn, tool: Tool, *, grant: str) -> bool:
    """Settle whether `tool` may go on, asking where the mode is to ask.

    A call that may not go on has ended as failed when this returns. `grant` is what
    "always allow" covers for the rest of the process.
    """
    mode = turn.session.mode
    if mode == "plan":
        tool.finish("Plan mode: nothing is run or written.", status="failed")
        return False
    if mode == "auto" or grant in turn.session.grants:
        return True
    try:
        chosen = turn.ask_permission(tool)
    except TurnCancelled:
        tool.finish("The turn was cancelled.", status="failed")
        raise
    if chosen == "allow-always":
        turn.session.grants.add(grant)
    if chosen in ("allow", "allow-always"):
        return True
    tool.finish("The person rejected this call.", status="failed")
    return False


def report_usage(turn: Turn) -> dict[str, int]:
    """Report context and cost as grown by this turn; return the result's ``usage``."""
    session = turn.session
    tokens_in, tokens_out = session.used + 200 + len(turn.text) // 4, 120
    price = TOKEN_PRICE_USD.get(session.options.get("model", ""), 0.0)
    spent = round(session.spent_usd + (tokens_in + tokens_out) * price, 6)
    used = min(tokens_in + tokens_out, CONTEXT_SIZE)
    turn.shelf.keep(session, {"spent_usd": spent, "used": used})
    turn.usage(used, CONTEXT_SIZE, spent)
    return {"inputTokens": tokens_in, "outputTokens": tokens_out, "totalTokens": tokens_in + tokens_out}


def _read(path: str) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(fd, encoding="utf-8", errors="replace") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    """Write through no symlink: the diff that was allowed named a file in this folder."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "it is a symbolic link") from error
        raise
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text)
