"""The published schema as a judge of what an agent sends."""

from __future__ import annotations

from typing import Any

import acp.schema as published
from pydantic import BaseModel, TypeAdapter

PARAMS = {
    "session/update": published.SessionNotification,
    "session/request_permission": published.RequestPermissionRequest,
    "elicitation/create": published.CreateFormSessionElicitationRequest,
}
RESULTS = {
    "initialize": published.InitializeResponse,
    "session/new": published.NewSessionResponse,
    "session/load": published.LoadSessionResponse,
    "session/resume": published.ResumeSessionResponse,
    "session/list": published.ListSessionsResponse,
    "session/close": published.CloseSessionResponse,
    "session/set_mode": published.SetSessionModeResponse,
    "session/set_config_option": published.SetSessionConfigOptionResponse,
    "session/prompt": published.PromptResponse,
}


def check(model: type[BaseModel], body: dict[str, Any]) -> None:
    """Fail unless `body` fits `model` and carries no field that the schema does not know."""
    parsed = TypeAdapter(model).validate_python(body)
    again = parsed.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert again == body


def check_messages(heard: list[dict[str, Any]], methods: dict[int, str]) -> None:
    """Check every message of an agent; `methods` says what each of our request ids asked."""
    for message in heard:
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            check(PARAMS[message["method"]], message["params"])
        elif "result" in message:
            check(RESULTS[methods[message["id"]]], message["result"])
        else:
            published.Error.model_validate(message["error"])
