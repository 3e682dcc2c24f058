"""An agent on the official SDK: it shares no code with Devplane, and validates every message it gets."""

from __future__ import annotations

import asyncio  # noqa: TID251 - the SDK is built on it
from typing import Any

import acp
from acp import schema


class SdkAgent(acp.Agent):
    """Says what it heard, asks before a command, offers a mode, and can be cancelled."""

    def __init__(self) -> None:
        self._client: acp.Client | None = None
        self._turns = 0
        self._cancelled = asyncio.Event()
        self._mode = "careful"

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: Any = None, client_info: Any = None, **kwargs: Any
    ) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                session_capabilities=schema.SessionCapabilities(close=schema.SessionCloseCapabilities())
            ),
            agent_info=schema.Implementation(name="sdk-agent", version="1.2.3"),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> schema.NewSessionResponse:
        modes = [schema.SessionMode(id=each, name=each.title()) for each in ("careful", "bold")]
        return schema.NewSessionResponse(
            session_id="sdk-session",
            modes=schema.SessionModeState(current_mode_id=self._mode, available_modes=modes),
        )

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> schema.SetSessionModeResponse:
        self._mode = mode_id
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> schema.PromptResponse:
        assert self._client is not None
        self._turns += 1
        self._cancelled.clear()
        said = prompt[0].text
        await self._client.session_update(session_id, acp.update_agent_thought_text("thinking about it"))
        await self._client.session_update(
            session_id, acp.update_agent_message_text(f"turn {self._turns}, mode {self._mode}: {said}")
        )
        if said == "wait":
            await self._cancelled.wait()
            return schema.PromptResponse(stop_reason="cancelled")
        if said.startswith("run "):
            call = acp.start_tool_call("call-1", said[4:], kind="execute", status="pending")
            await self._client.session_update(session_id, call)
            answer = await self._client.request_permission(
                session_id=session_id,
                tool_call=schema.ToolCallUpdate(tool_call_id="call-1", raw_input={"command": said[4:]}),
                options=[
                    schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                    schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
                ],
            )
            chosen = getattr(answer.outcome, "option_id", answer.outcome.outcome)
            await self._client.session_update(
                session_id,
                acp.update_tool_call("call-1", status="completed" if chosen == "yes" else "failed"),
            )
            await self._client.session_update(session_id, acp.update_agent_message_text(f" chosen: {chosen}"))
        return schema.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self._cancelled.set()

    async def close_session(self, session_id: str, **kwargs: Any) -> schema.CloseSessionResponse:
        return schema.CloseSessionResponse()


if __name__ == "__main__":
    asyncio.run(acp.run_agent(SdkAgent(), use_unstable_protocol=True))
