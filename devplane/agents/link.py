"""What Devplane says to one agent, as the protocol wants it. Owns no process and no state of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import anyio

from devplane import __version__
from devplane.acp import messages as acp
from devplane.acp.jsonrpc import Disconnected, PeerError
from devplane.core import events as e
from devplane.core.text import one_line
from devplane.errors import AgentFailed
from devplane.transport import Connection

PROTOCOL_VERSION = 1

AUTH_REQUIRED = -32000

OnResult = Callable[[Any], object]
Reopen: TypeAlias = Literal["resume", "load"]


class NotAnAgent(AgentFailed):
    """It does not speak the protocol, or not the version that Devplane speaks."""


class StartTooSlow(AgentFailed):
    """A step of the start got no answer in its time (G-08)."""


class SessionRefused(AgentFailed):
    """The agent would not open a session; the message repeats what it offers for signing in (G-11)."""


class NotContinued(AgentFailed):
    """The agent did not take up a session again."""


class Link:
    """One agent's side of the protocol, as calls."""

    def __init__(
        self, connection: Connection, name: str, *, offers_fs: bool = False, offers_terminal: bool = False
    ) -> None:
        """`offers_fs` and `offers_terminal`: whether the agent may have us handle its files and commands."""
        self._connection = connection
        self._name = name
        self._offers = {"fs": offers_fs, "terminal": offers_terminal}
        self.sign_in: tuple[str, ...] = ()

    async def initialize(self) -> tuple[e.AgentIntroduced, dict[str, Any]]:
        """Shake hands; return what the agent says of itself, and its answer as it came.

        Raises:
            NotAnAgent: An answer of another version or shape (G-10).
            PeerError: The agent refused.
        """
        result = await self._connection.request(
            "initialize", acp.initialize_params(__version__, **self._offers)
        )
        if not isinstance(result, dict):
            raise NotAnAgent(f"{self._name} answered initialize with no object", hint=_SPEAKS_ACP)
        answer = acp.Initialized.model_validate(result)
        version = answer.version
        if isinstance(version, bool) or not isinstance(version, int | float) or version != PROTOCOL_VERSION:
            answered = "no protocol version" if version is None else f"protocol version {version!r}"
            raise NotAnAgent(
                f"{self._name} answered with {one_line(answered)}; Devplane speaks {PROTOCOL_VERSION}",
                hint="Use a version of it that speaks protocol version 1: devplane agents pin.",
            )
        self.sign_in = _sign_in(answer.auth_methods)
        capabilities, info = answer.capabilities, answer.info
        sessions = _object(capabilities.get("sessionCapabilities"))
        introduced = e.AgentIntroduced(
            name=one_line(str(info.get("name") or ""), 100),
            version=one_line(str(info.get("version") or ""), 100),
            can_load=capabilities.get("loadSession") is True,
            can_resume=_offered(sessions, "resume"),
            can_close=_offered(sessions, "close"),
            can_list=_offered(sessions, "list"),
            sign_in=self.sign_in,
        )
        return introduced, result

    async def open_session(self, cwd: str, on_result: OnResult | None = None) -> tuple[str, dict[str, Any]]:
        """Open a new session in `cwd`; return the agent's id for it and the whole answer.

        `on_result` hears the answer before any update that came after it.

        Raises:
            SessionRefused: With what the agent said and the ways to sign in that it offers.
        """
        try:
            result = await self._connection.request(
                "session/new", acp.new_session_params(cwd, []), on_result=on_result
            )
        except PeerError as error:
            raise self.refused(error) from None
        session = result.get("sessionId") if isinstance(result, dict) else None
        if not isinstance(session, str) or not session:
            raise NotAnAgent(f"{self._name} opened a session without an id", hint=_SPEAKS_ACP)
        return session, result

    async def reopen(
        self, how: Reopen, session: str, cwd: str, on_result: OnResult | None = None
    ) -> dict[str, Any]:
        """Take up `session` again in `cwd` by ``session/resume`` or ``session/load``; return the answer.

        `on_result` hears the answer before any update that came after it.

        Raises:
            NotContinued: The agent would not, or opened another session instead. Agents word a session
                that they do not know in many ways, so every error counts (real-agents quirk 19).
        """
        params = acp.existing_session_params(session, cwd, [])
        try:
            result = await self._connection.request(f"session/{how}", params, on_result=on_result)
        except PeerError as error:
            hint = f"It offers: {'; '.join(self.sign_in)}." if error.code == AUTH_REQUIRED else None
            raise NotContinued(
                f"{self._name} could not continue {session}: {said(error)}", hint=hint
            ) from None
        answered = _object(result).get("sessionId", session)
        if answered != session:
            raise NotContinued(f"{self._name} answered for {session} with a session of another id")
        return _object(result)

    async def prompt(self, session: str, text: str) -> acp.PromptEnded:
        """Send one prompt and wait for the turn's end, however long it takes."""
        result = await self._connection.request("session/prompt", acp.prompt_params(session, text))
        return acp.PromptEnded.model_validate(_object(result))

    async def cancel(self, session: str) -> None:
        await self._connection.notify("session/cancel", acp.cancel_params(session))

    async def set_mode(self, session: str, mode: str, on_result: OnResult) -> None:
        params = acp.set_mode_params(session, mode)
        await self._connection.request("session/set_mode", params, on_result=on_result)

    async def set_option(self, session: str, option: str, value: str, on_result: OnResult) -> None:
        params = acp.set_config_option_params(session, option, value)
        await self._connection.request("session/set_config_option", params, on_result=on_result)

    async def close(self, session: str, limit_s: float) -> None:
        """Close the session; an agent that does not answer in time is let go."""
        with anyio.move_on_after(limit_s):
            try:
                await self._connection.request("session/close", acp.close_params(session))
            except (PeerError, Disconnected):
                return

    def refused(self, error: PeerError) -> SessionRefused:
        """Word a refused session, or a prompt that needs a sign-in, for a person."""
        said = one_line(_details(error), 500)
        if not self.sign_in:
            return SessionRefused(f"could not start a session: {said}")
        offers = "; ".join(self.sign_in)
        return SessionRefused(
            f"could not start a session: {said}",
            hint=f"This agent may need signing in first. It offers: {offers}.",
        )


_SPEAKS_ACP = "Is this the agent's ACP command? Look at: devplane agents."


async def within(
    step: str, name: str, limit_s: float, is_busy: Callable[[], bool], longest_s: float, wait: Any
) -> Any:
    """Await `wait` (a coroutine) for `limit_s`, and up to `longest_s` while `is_busy`.

    Raises:
        StartTooSlow: Naming the `step`.
    """
    result: Any = None
    is_done = False

    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            nonlocal result, is_done
            result = await wait
            is_done = True
            tasks.cancel_scope.cancel()

        tasks.start_soon(run)
        began = anyio.current_time()
        await anyio.sleep(limit_s)
        # Nobody tells when an agent falls silent, so it is looked at each second.
        while is_busy() and anyio.current_time() - began < longest_s:  # noqa: ASYNC110
            await anyio.sleep(min(1.0, limit_s))
        tasks.cancel_scope.cancel()
    if not is_done:
        raise StartTooSlow(
            f"{name} gave no answer to {step} in {limit_s:g} s",
            hint="Is this an ACP agent, is it signed in? DEVPLANE_START_TIMEOUT sets the limit in seconds.",
        )
    return result


def _details(error: PeerError) -> str:
    """What the agent said, with the details that some put beside a bare ``Internal error``."""
    data = error.data if isinstance(error.data, dict) else {}
    details = data.get("details") or data.get("message")
    if isinstance(details, str) and details not in error.message:
        return f"{error.message}: {details}"
    return error.message or f"error {error.code}"


def said(error: PeerError) -> str:
    """One line of what an agent answered instead of a result."""
    return one_line(_details(error), 500)


def _sign_in(methods: list[dict[str, Any]]) -> tuple[str, ...]:
    lines = []
    for each in methods:
        name = str(each.get("name") or each.get("id") or "?")
        about = each.get("description")
        line = f"{name} — {about}" if isinstance(about, str) and about else name
        lines.append(one_line(line, 200))
    return tuple(lines)


def _offered(capabilities: dict[str, Any], name: str) -> bool:
    value = capabilities.get(name)
    return value is True or isinstance(value, dict)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
