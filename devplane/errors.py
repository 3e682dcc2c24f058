"""Every error that Devplane shows to a person, and the exit status that each ends with.

What is not a `DevplaneError` is a bug and is shown as one.
"""

from __future__ import annotations

from typing import Any, ClassVar


class DevplaneError(Exception):
    """Something failed and a person can be told what.

    ``str(error)`` is one line that says what is wrong; ``hint`` is one line that
    says what to do, or ``None``.
    """

    exit_status: ClassVar[int] = 1
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(" ".join(message.split("\n")) if "\n" in message else message)
        if hint is not None:
            self.hint = hint


class UsageError(DevplaneError):
    """The person asked for something that cannot be meant."""

    exit_status = 2


class NotFound(DevplaneError):
    """Nothing has this id or name, or several things do."""

    exit_status = 3


class Refused(DevplaneError):
    """Devplane will not do it: trust, policy, authority or a state that does not allow it."""

    exit_status = 4


class AgentFailed(DevplaneError):
    """The agent did not start, broke the protocol, or ended on its own."""

    exit_status = 5


class NoDaemon(DevplaneError):
    """No daemon could be reached or started."""

    exit_status = 6


BY_STATUS: dict[int, type[DevplaneError]] = {
    cls.exit_status: cls for cls in (DevplaneError, UsageError, NotFound, Refused, AgentFailed, NoDaemon)
}
"""The class for each exit status: how an error keeps its kind across the control socket."""


def innermost(error: BaseException) -> BaseException:
    """Return what a group of exceptions was raised for: its first member, however deep; else `error`."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def to_wire(error: DevplaneError) -> dict[str, Any]:
    """Return the JSON-RPC ``data`` object that carries `error` to another process."""
    return {"exit_status": error.exit_status, "hint": error.hint}


def from_wire(message: str, data: object) -> DevplaneError:
    """Rebuild the error that `to_wire` described; a plain `DevplaneError` when `data` is foreign."""
    fields = data if isinstance(data, dict) else {}
    status, hint = fields.get("exit_status"), fields.get("hint")
    cls = BY_STATUS.get(status, DevplaneError) if isinstance(status, int) else DevplaneError
    return cls(message, hint=hint if isinstance(hint, str) else None)
