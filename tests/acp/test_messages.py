"""What Devplane says fits the published schema; what agents say is read whatever its shape."""

from __future__ import annotations

from typing import Any

import acp.schema as schema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from devplane.acp import messages as m

SERVER = {"name": "devplane", "command": "/bin/devplane", "args": ["mcp"], "env": []}

SAID: list[tuple[dict[str, Any], Any]] = [
    (m.initialize_params("1.2.3"), schema.InitializeRequest),
    (m.new_session_params("/repo", []), schema.NewSessionRequest),
    (m.new_session_params("/repo", [SERVER]), schema.NewSessionRequest),
    (m.existing_session_params("s", "/repo", []), schema.LoadSessionRequest),
    (m.existing_session_params("s", "/repo", [SERVER]), schema.ResumeSessionRequest),
    (m.prompt_params("s", "do it"), schema.PromptRequest),
    (m.cancel_params("s"), schema.CancelNotification),
    (m.close_params("s"), schema.CloseSessionRequest),
    (m.set_mode_params("s", "plan"), schema.SetSessionModeRequest),
    (m.set_config_option_params("s", "model", "big"), schema.SetSessionConfigOptionSelectRequest),
    (m.permission_selected("approved"), schema.RequestPermissionResponse),
    (m.permission_cancelled(), schema.RequestPermissionResponse),
    (m.elicitation_accept({"name": "x", "count": 1, "sure": True}), schema.AcceptElicitationResponse),
    (m.elicitation_decline(), schema.DeclineElicitationResponse),
    (m.elicitation_cancel(), schema.CancelElicitationResponse),
    (m.initialize_params("1", fs=True, terminal=True), schema.InitializeRequest),
    (m.file_content("text"), schema.ReadTextFileResponse),
    (m.exit_status(3, None), schema.WaitForTerminalExitResponse),
    (m.exit_status(None, "SIGTERM"), schema.TerminalExitStatus),
    (m.terminal_output("x", truncated=False, status=None), schema.TerminalOutputResponse),
    (m.terminal_output("x", truncated=True, status=m.exit_status(0, None)), schema.TerminalOutputResponse),
]


@pytest.mark.parametrize(("said", "model"), SAID, ids=[model.__name__ for _, model in SAID])
def test_what_devplane_says_is_what_the_schema_has(said: dict[str, Any], model: type[BaseModel]) -> None:
    read = TypeAdapter(model).validate_python(said)
    # Dumping what was read shows that no field was passed over as unknown.
    assert said.items() <= read.model_dump(by_alias=True, exclude_unset=True, mode="json").items()


def test_neither_files_nor_terminals_are_offered_and_forms_are() -> None:
    offered = m.initialize_params("1")["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert offered["terminal"] is False
    assert offered["elicitation"] == {"form": {}}


def test_files_and_terminals_are_offered_to_an_agent_that_is_served() -> None:
    offered = m.initialize_params("1", fs=True, terminal=True)["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert offered["terminal"] is True


def test_what_an_agent_leaves_out_of_a_command_is_nothing() -> None:
    bare = m.CreateTerminal.model_validate({"sessionId": "s", "command": "make"})
    null = {"command": "make", "args": None, "env": None, "cwd": None, "outputByteLimit": None}
    assert m.CreateTerminal.model_validate(null).args == bare.args == []
    assert bare.env == []
    given = {"command": "make", "args": ["a"], "env": [{"name": "A", "value": ""}], "outputByteLimit": 0}
    read = m.CreateTerminal.model_validate(given)
    assert (read.args, read.env[0].name, read.output_limit_bytes) == (["a"], "A", 0)


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (m.CreateTerminal, {"command": ""}),
        (m.CreateTerminal, {"command": "make", "args": "all"}),
        (m.CreateTerminal, {"command": "make", "env": [{"name": "A=B", "value": "x"}]}),
        (m.CreateTerminal, {"command": "make", "outputByteLimit": -1}),
        (m.ReadTextFile, {"path": "/a", "line": -1}),
        (m.WriteTextFile, {"path": "/a"}),
        (m.TerminalNamed, {}),
    ],
)
def test_what_cannot_be_meant_is_refused(model: type[BaseModel], params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(params)


@pytest.mark.parametrize(
    "option", ["approve_for_session", "deny_always", " allow ", "允许", 'a/b"c', "x" * 2000, ""]
)
def test_g24_the_chosen_id_goes_back_as_it_came(option: str) -> None:
    assert m.permission_selected(option) == {"outcome": {"outcome": "selected", "optionId": option}}


def test_g51_decline_and_cancel_are_different_answers() -> None:
    assert m.elicitation_decline() == {"action": "decline"}
    assert m.elicitation_cancel() == {"action": "cancel"}


# What agents say


def permission(**call: Any) -> dict[str, Any]:
    options = [
        {"optionId": "reject_once", "name": "Yes", "kind": "allow_once"},
        {"optionId": "abort", "name": None, "kind": 7},
    ]
    return {"sessionId": "s", "toolCall": {"toolCallId": "t9", **call}, "options": options}


def test_g23_options_keep_their_ids_apart_from_their_kinds() -> None:
    read = m.PermissionRequest.model_validate(permission())
    assert [(each.id, each.name, each.kind) for each in read.options] == [
        ("reject_once", "Yes", "allow_once"),
        ("abort", None, None),
    ]


@pytest.mark.parametrize("call", [{}, {"title": None, "kind": None, "rawInput": None}, {"title": 5}])
def test_g26_a_request_needs_no_more_of_its_call_than_the_id(call: dict[str, Any]) -> None:
    assert m.PermissionRequest.model_validate(permission(**call)).call.id == "t9"


@pytest.mark.parametrize(
    "params", [{}, {"toolCall": None}, {"toolCall": {}}, {"toolCall": {"toolCallId": 5}}]
)
def test_a_permission_request_about_no_call_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        m.PermissionRequest.model_validate(params)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"stopReason": "refusal"}, "refusal"),
        ({"stopReason": "max_tokens"}, "max_tokens"),
        ({"stopReason": "banana", "usage": None}, "banana"),
        ({"stopReason": None}, None),
        ({"stopReason": 3, "usage": "many"}, None),
        ({}, None),
    ],
)
def test_g22_any_stop_reason_is_kept_as_text_and_none_stays_none(
    answer: dict[str, Any], reason: str | None
) -> None:
    read = m.PromptEnded.model_validate(answer)
    assert (read.stop_reason, read.usage) == (reason, None)


def test_usage_is_kept_as_it_came() -> None:
    usage = {"inputTokens": 3, "vendor": {"x": None}}
    assert m.PromptEnded.model_validate({"stopReason": "end_turn", "usage": usage}).usage == usage


@pytest.mark.parametrize(
    "answer",
    [
        {"protocolVersion": 1},
        {"protocolVersion": 1, "agentCapabilities": None, "agentInfo": None, "authMethods": None},
        {"protocolVersion": 1, "agentCapabilities": [], "agentInfo": "x", "authMethods": {"id": "a"}},
    ],
)
def test_g41_null_and_nonsense_in_a_handshake_are_as_good_as_absent(answer: dict[str, Any]) -> None:
    read = m.Initialized.model_validate(answer)
    assert (read.capabilities, read.info, read.auth_methods) == ({}, {}, [])


def test_a_form_is_read_and_other_ways_of_asking_are_not() -> None:
    form = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    assert m.FormRequest.model_validate({"message": "How many?", "requestedSchema": form}).form == form
    with pytest.raises(ValidationError):
        m.FormRequest.model_validate({"mode": "url", "message": "Go there", "url": "https://example.org"})


# Chunks and content


def chunk(content: object, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": content, **more}


def text(words: object) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("update", "read"),
    [
        (chunk(text("Hi"), messageId="m1"), ("agent", "m1", "Hi")),
        (chunk(text("Hm"), "agent_thought_chunk"), ("thought", None, "Hm")),
        (chunk(text("Do"), "user_message_chunk", messageId=None), ("user", None, "Do")),
        (chunk(text(""), messageId=7), ("agent", None, "")),
        (chunk(text(None)), ("agent", None, "")),
        (chunk(None), ("agent", None, "")),
        (chunk({"type": "hologram"}), ("agent", None, "[hologram]")),
        (chunk({"type": "image", "data": "A" * 2_000_000}), ("agent", None, "[image 1.5 MB]")),
    ],
)
def test_a_chunk_is_read_as_who_which_and_what(update: dict[str, Any], read: tuple[Any, ...]) -> None:
    assert m.chunk_of(update) == read


@pytest.mark.parametrize("kind", ["plan", "tool_call", "brand_new_thing", None, 5, ["agent_message_chunk"]])
def test_g41_what_is_no_chunk_is_left_to_others(kind: Any) -> None:
    assert m.chunk_of({"sessionUpdate": kind, "entries": None, "used": None}) is None


BASE64 = "iVBORw0KGgo" * 50_000


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "mimeType": "image/png", "data": BASE64},
        {"type": "audio", "mimeType": "audio/wav", "data": BASE64},
        {"type": "image", "mimeType": "image/png", "data": "!not base64!" * 1000},
        {"type": "resource", "resource": {"uri": "file:///a.png", "blob": BASE64}},
        text(f"before data:image/png;base64,{BASE64} after"),
    ],
)
def test_g38_no_picture_gets_into_text(block: dict[str, Any]) -> None:
    shown = m.content_text([{"type": "content", "content": block}])
    assert shown
    assert len(shown) < 100
    assert "B]" in shown


def test_g38_the_text_around_a_picture_stays() -> None:
    shown = m.block_text(text(f"before data:image/png;base64,{BASE64} after"))
    assert shown.startswith("before data:image/png")
    assert shown.endswith(" after")


def test_the_content_of_a_call_is_its_text_its_edits_and_marks_for_the_rest() -> None:
    content = [
        {"type": "content", "content": text("ran it")},
        {"type": "diff", "path": "/r/a.txt", "oldText": "one\ntwo", "newText": "one\n2"},
        {"type": "terminal", "terminalId": "t"},
        None,
        "words",
        {"type": "content", "content": None},
    ]
    assert m.content_text(content).splitlines() == [
        "ran it",
        "--- /r/a.txt",
        "+++ /r/a.txt",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "+2",
        "[terminal]",
    ]


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": "resource_link", "uri": "file:///a", "name": "a"}, "[link file:///a]"),
        ({"type": "resource_link"}, "[link ?]"),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}, "inside"),
        ({"type": "resource", "resource": None}, "[resource ?]"),
        ({"type": "image"}, "[image]"),
        ({}, "[unknown content]"),
    ],
)
def test_what_an_agent_points_at_is_named(block: dict[str, Any], shown: str) -> None:
    assert m.block_text(block) == shown


def test_an_edit_of_a_new_file_has_only_added_lines() -> None:
    shown = m.diff_text({"path": "a", "oldText": None, "newText": "x\ny"})
    assert [line for line in shown.splitlines() if line[0] in "+-"][2:] == ["+x", "+y"]


def test_an_edit_too_long_to_compare_is_counted() -> None:
    assert m.diff_text({"path": "a", "oldText": "x\n" * 5000, "newText": ""}).endswith(
        "[5000 lines become 0]"
    )


@given(
    st.recursive(
        st.none()
        | st.integers()
        | st.text()
        | st.sampled_from(["content", "diff", "text", "image", "resource"]),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "content", "text", "data", "resource", "path", "oldText", "newText"]
                ),
                inner,
            )
        ),
        max_leaves=20,
    )
)
def test_no_content_whatever_raises(content: Any) -> None:
    assert isinstance(m.content_text(content), str)
    assert isinstance(m.content_text([content]), str)
    assert isinstance(m.block_text(content), str)
    m.chunk_of(chunk(content))


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1_500_000, "1.5 MB")],
)
def test_sizes_read_as_a_person_would_say_them(count: int, said: str) -> None:
    assert m.size(count) == said
