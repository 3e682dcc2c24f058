"""ACP's messages as Devplane sends and reads them (protocol version 1).

What goes out is built here and validated against the published schema in the tests.
What comes in is read leniently: null is absent, a field of the wrong type is absent,
unknown kinds are kept by the caller (G-41).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

PROTOCOL_VERSION = 1
RESOURCE_NOT_FOUND = -32002


# ---- what Devplane sends


def initialize_params(version: str, *, fs: bool = False, terminal: bool = False) -> dict[str, Any]:
    """Params of ``initialize``. Files and terminals are the agents' own business, unless offered here."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": fs, "writeTextFile": fs},
            "terminal": terminal,
            "elicitation": {"form": {}},
        },
        "clientInfo": {"name": "devplane", "title": "Devplane", "version": version},
    }


def new_session_params(cwd: str, mcp_servers: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cwd": cwd, "mcpServers": mcp_servers}


def existing_session_params(session: str, cwd: str, mcp_servers: list[dict[str, Any]]) -> dict[str, Any]:
    """Params of ``session/load`` and ``session/resume``."""
    return {"sessionId": session, "cwd": cwd, "mcpServers": mcp_servers}


def prompt_params(session: str, text: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def cancel_params(session: str) -> dict[str, Any]:
    return {"sessionId": session}


def close_params(session: str) -> dict[str, Any]:
    return {"sessionId": session}


def set_mode_params(session: str, mode: str) -> dict[str, Any]:
    return {"sessionId": session, "modeId": mode}


def set_config_option_params(session: str, option: str, value: str) -> dict[str, Any]:
    return {"sessionId": session, "configId": option, "value": value}


def permission_selected(option: str) -> dict[str, Any]:
    """Result of ``session/request_permission``: the id goes back byte for byte (G-24)."""
    return {"outcome": {"outcome": "selected", "optionId": option}}


def permission_cancelled() -> dict[str, Any]:
    return {"outcome": {"outcome": "cancelled"}}


def elicitation_accept(content: dict[str, Any]) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def elicitation_decline() -> dict[str, Any]:
    return {"action": "decline"}


def elicitation_cancel() -> dict[str, Any]:
    return {"action": "cancel"}


def file_content(text: str) -> dict[str, Any]:
    """Result of ``fs/read_text_file``."""
    return {"content": text}


def exit_status(code: int | None, signal: str | None) -> dict[str, Any]:
    """Result of ``terminal/wait_for_exit``, and the ``exitStatus`` of ``terminal/output``."""
    return {"exitCode": code, "signal": signal}


def terminal_output(text: str, *, truncated: bool, status: dict[str, Any] | None) -> dict[str, Any]:
    """Result of ``terminal/output``; without a `status` the command still runs."""
    output: dict[str, Any] = {"output": text, "truncated": truncated}
    return output if status is None else {**output, "exitStatus": status}


# ---- what Devplane reads


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object_or_empty(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Any]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _options(value: object) -> list[Any]:
    """The options that can be answered with: one without an id is none."""
    return [each for each in _objects(value) if isinstance(each.get("optionId"), str)]


Text = Annotated[str | None, BeforeValidator(_text_or_none)]
"""A string, or ``None`` for null, absence and anything else."""


class Lenient(BaseModel):
    """Reads what it knows, keeps the rest, and never fails for an optional field."""

    model_config = ConfigDict(extra="allow", populate_by_name=True, frozen=True)


class PermissionOption(Lenient):
    id: str = Field(alias="optionId")
    name: Text = None
    kind: Text = None


class ToolCallNamed(Lenient):
    """The call that a permission request is about; it may carry nothing but its id."""

    id: str = Field(alias="toolCallId")


class PermissionRequest(Lenient):
    """Params of ``session/request_permission``."""

    session: Text = Field(default=None, alias="sessionId")
    call: ToolCallNamed = Field(alias="toolCall")
    options: Annotated[list[PermissionOption], BeforeValidator(_options)] = []


class FormRequest(Lenient):
    """Params of ``elicitation/create`` in form mode; other modes are not offered."""

    mode: Literal["form"] = "form"
    message: Text = None
    form: dict[str, Any] = Field(alias="requestedSchema")


Count = Annotated[int, Field(ge=0)]


class ReadTextFile(Lenient):
    """Params of ``fs/read_text_file``; lines are counted from 1."""

    path: str
    line: Count | None = None
    limit: Count | None = None


class WriteTextFile(Lenient):
    """Params of ``fs/write_text_file``."""

    path: str
    content: str


class Variable(Lenient):
    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    value: str


class CreateTerminal(Lenient):
    """Params of ``terminal/create``. `command` is a program; its arguments are apart."""

    command: Annotated[str, Field(min_length=1)]
    args: list[str] = []
    env: list[Variable] = []
    cwd: str | None = None
    output_limit_bytes: Count | None = Field(default=None, alias="outputByteLimit")

    @field_validator("args", "env", mode="before")
    @classmethod
    def _absent(cls, value: Any) -> Any:
        return [] if value is None else value


class TerminalNamed(Lenient):
    """Params of the other ``terminal/*`` methods."""

    id: str = Field(alias="terminalId")


class Initialized(Lenient):
    """Result of ``initialize``. `version` is judged by the caller, whatever it is (G-10)."""

    version: Any = Field(default=None, alias="protocolVersion")
    capabilities: Annotated[dict[str, Any], BeforeValidator(_object_or_empty)] = Field(
        default={}, alias="agentCapabilities"
    )
    info: Annotated[dict[str, Any], BeforeValidator(_object_or_empty)] = Field(default={}, alias="agentInfo")
    auth_methods: Annotated[list[dict[str, Any]], BeforeValidator(_objects)] = Field(
        default=[], alias="authMethods"
    )


class PromptEnded(Lenient):
    """Result of ``session/prompt``; an unknown or missing stop reason is no error (G-22)."""

    stop_reason: Text = Field(default=None, alias="stopReason")
    usage: Annotated[dict[str, Any] | None, BeforeValidator(lambda v: v if isinstance(v, dict) else None)] = (
        None
    )


ROLES = {
    "agent_message_chunk": "agent",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}


def chunk_of(update: dict[str, Any]) -> tuple[str, str | None, str] | None:
    """Read a streamed piece as (role, message id, text), or ``None`` for any other update.

    The hot path: no model is built for the pieces that an agent streams.
    """
    kind = update.get("sessionUpdate")
    role = ROLES.get(kind) if type(kind) is str else None
    if role is None:
        return None
    content = update.get("content")
    message = update.get("messageId")
    if type(content) is dict and content.get("type") == "text":
        text = content.get("text")
        return role, message if type(message) is str else None, text if type(text) is str else ""
    return role, message if type(message) is str else None, block_text(content)


def block_text(block: object) -> str:
    """Return a content block as text; what is no text becomes a mark such as ``[image 1.5 MB]`` (G-38)."""
    if not isinstance(block, dict):
        return ""
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return _without_data_uris(text) if isinstance(text, str) else ""
    if kind in ("image", "audio"):
        data = block.get("data")
        return f"[{kind} {size(len(data) * 3 // 4)}]" if isinstance(data, str) else f"[{kind}]"
    if kind == "resource_link":
        return f"[link {block.get('uri') or block.get('name') or '?'}]"
    if kind == "resource":
        resource = _object_or_empty(block.get("resource"))
        text, blob = resource.get("text"), resource.get("blob")
        if isinstance(text, str):
            return _without_data_uris(text)
        held = f" {size(len(blob) * 3 // 4)}" if isinstance(blob, str) else ""
        return f"[resource {resource.get('uri') or '?'}{held}]"
    return f"[{kind if isinstance(kind, str) else 'unknown content'}]"


def content_text(content: object) -> str:
    """Return the ``content`` of a tool call as text: blocks joined, edits as diffs, the rest as marks."""
    parts: list[str] = []
    for each in content if isinstance(content, list) else ():
        if not isinstance(each, dict):
            continue
        match each.get("type"):
            case "content":
                parts.append(block_text(each.get("content")))
            case "diff":
                parts.append(diff_text(each))
            case "terminal":
                parts.append("[terminal]")
            case _:
                parts.append(block_text(each))
    return "\n".join(part for part in parts if part)


def diff_text(diff: dict[str, Any]) -> str:
    """Return a proposed edit as a unified diff."""
    import difflib

    path = diff.get("path")
    name = path if isinstance(path, str) else "?"
    old, new = diff.get("oldText"), diff.get("newText")
    before = old.splitlines() if isinstance(old, str) else []
    after = new.splitlines() if isinstance(new, str) else []
    if len(before) + len(after) > DIFF_LINES_COMPARED:
        return f"--- {name}\n+++ {name}\n[{len(before)} lines become {len(after)}]"
    return "\n".join(difflib.unified_diff(before, after, name, name, n=3, lineterm=""))


DIFF_LINES_COMPARED = 4000
"""Above this a comparison costs more than it shows."""


def size(count: int) -> str:
    """Say a number of bytes as a person would: ``512 B``, ``1.5 MB``."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def _without_data_uris(text: str) -> str:
    """Replace base64 data in `text` by a mark: it is no speech, and it can be megabytes."""
    if ";base64," not in text:
        return text
    parts = text.split(";base64,")
    kept = [parts[0]]
    for part in parts[1:]:
        end = next((i for i, char in enumerate(part) if not (char.isalnum() or char in "+/=")), len(part))
        kept.append(f";base64,[{size(end * 3 // 4)}]{part[end:]}" if end > 64 else f";base64,{part}")
    return "".join(kept)
