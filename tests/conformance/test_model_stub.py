"""The model server answers each agent in its own format, as the script in the prompt says."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.model_stub import StubServer, serving
from conformance.script import (
    delay,
    edit,
    error,
    hang,
    mcp,
    plan,
    script,
    shell,
    stop,
    text,
    thinking,
    usage,
    write,
)
from tests.conformance.client import CLIENTS, AnyClient, Chat, events, post, posted


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


@pytest.fixture
def server(log: Path) -> Iterator[StubServer]:
    with serving(log=log) as running:
        yield running


@pytest.fixture(params=[(name, streamed) for name in CLIENTS for streamed in (True, False)], ids=str)
def client(request: pytest.FixtureRequest) -> AnyClient:
    name, streamed = request.param
    return CLIENTS[name](streamed=streamed)


def logged(log: Path) -> list[dict[str, Any]]:
    """Read the log; an ending is sure to be there once the server has closed."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_a_script_of_two_rounds_is_played_over_two_requests(server: StubServer, client: AnyClient) -> None:
    client.prompt(
        script(
            [thinking("Let me think."), text("I run it."), shell("touch made.txt"), usage(12, 34)],
            [text("All of it is done.")],
        )
    )

    first = post(server, client.path, client.body).body
    assert client.thought(first) == "Let me think."
    assert client.said(first) == "I run it."
    assert client.command(first) == {"command": "touch made.txt"}
    assert client.usage(first) == (12, 34)

    client.carry_on(client.command(first))
    second = post(server, client.path, client.body).body
    assert client.said(second) == "All of it is done."


def test_a_new_prompt_starts_its_own_script(client: AnyClient, log: Path) -> None:
    client.prompt(script([shell("first")], [text("never asked for")]))
    client.carry_on({"command": "first"})
    client.prompt(script([text("the second turn")]))

    with serving(log=log) as server:
        assert client.said(post(server, client.path, client.body).body) == "the second turn"
    request, ending = logged(log)
    roles = [item["role"] for item in request["conversation"] if item["text"] or item["role"] == "result"]
    assert (roles[0], roles[-1]) == ("user", "user")
    assert any("ran it" in item["text"] for item in request["conversation"] if item["role"] == "result")
    assert (request["round"], ending) == (0, {"request": 0, "ended": "answered"})


def test_the_round_ends_for_the_reason_that_was_scripted(server: StubServer, client: AnyClient) -> None:
    client.prompt(script([text("cut"), stop("max_tokens")]))
    answer = post(server, client.path, client.body).body
    assert client.ending(answer) in {"max_tokens", "length", "incomplete", "MAX_TOKENS"}


def test_an_error_has_the_scripted_status(client: AnyClient, log: Path) -> None:
    client.prompt(script([error(429)]))
    with serving(log=log) as server:
        answer = post(server, client.path, client.body)
    assert (answer.status, answer.body["error"]["message"]) == (429, "scripted failure 429")
    assert logged(log)[-1]["ended"] == "error 429"


def test_an_error_may_carry_a_body_of_its_own(server: StubServer, client: AnyClient) -> None:
    client.prompt(script([error(402, {"error": {"message": "no quota"}})]))
    answer = post(server, client.path, client.body)
    assert (answer.status, answer.body) == (402, {"error": {"message": "no quota"}})


@pytest.mark.parametrize("name", CLIENTS)
def test_a_hang_ends_when_the_client_leaves(tmp_path: Path, name: str) -> None:
    client = CLIENTS[name](streamed=True)
    client.prompt(script([text("before it hangs"), hang()]))
    # A pipe for a log, so that reading waits for what has not happened yet.
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    with pipe.open("r+b", buffering=0) as entries, serving(log=pipe) as server:
        lines = (json.loads(line) for line in iter(entries.readline, b""))
        with posted(server, client.path, client.body) as response:
            received = b""
            while b"hangs" not in received:
                received += response.read1()
            assert next(lines)["round"] == 0
        assert next(lines) == {"request": 0, "ended": "client left"}


def test_a_server_that_closes_ends_what_still_hangs(log: Path) -> None:
    client = Chat(streamed=True)
    client.prompt(script([hang()]))
    with serving(log=log) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
        connection.request("POST", client.path, json.dumps(client.body))
        response = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    connection.close()
    assert logged(log)[-1]["ended"] == "client left"


def test_a_delay_holds_back_only_what_comes_after_it(server: StubServer) -> None:
    client = Chat(streamed=True)
    client.prompt(script([text("early"), delay(0.01), text(" late")]))
    assert client.said(post(server, client.path, client.body).body) == "early late"


def test_text_streams_in_about_as_many_pieces_as_scripted(server: StubServer) -> None:
    client = Chat(streamed=True)
    client.prompt(script([text("one two three four five six", pieces=3)]))
    chunks = post(server, client.path, client.body).body
    contents = [choice["delta"].get("content") for chunk in chunks for choice in chunk["choices"]]
    assert [content for content in contents if content] == ["one two ", "three four ", "five six"]


def test_a_request_without_tools_gets_a_title_and_not_the_script(
    server: StubServer, client: AnyClient, log: Path
) -> None:
    client.prompt(script([shell("rm -r nothing")]))
    body = {key: value for key, value in client.body.items() if key != "tools"}
    if "input" in body:
        body["input"] = [entry for entry in client.body["input"] if entry["type"] != "additional_tools"]
    assert client.said(post(server, client.path, body).body) == "A scripted session"
    assert logged(log)[0]["round"] is None


def test_a_request_for_json_gets_json_of_its_schema_and_not_the_script(server: StubServer) -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "reason": {"type": "STRING"},
            "score": {"type": "INTEGER"},
            "model": {"enum": ["flash", "pro"]},
            "is_new": {"type": "boolean"},
            "tags": {"type": "array"},
        },
    }
    client = CLIENTS["gemini"](streamed=False)
    client.prompt(script([text("not this")]))
    asked = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    answer = post(server, client.path, {**client.body, "generationConfig": asked}).body
    assert json.loads(client.said(answer)) == {
        "reason": "A scripted session",
        "score": 1,
        "model": "flash",
        "is_new": False,
        "tags": [],
    }


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("hello", "There is no script in the prompt."),
        ("Play-script:[[{", "cannot play this script"),
        ('Play-script:[[{"do": "dance"}]]', "cannot play this script"),
        (script(), "The script is over."),
    ],
)
def test_what_cannot_be_played_is_said_as_text(server: StubServer, prompt: str, said: str) -> None:
    client = Chat(streamed=True)
    client.prompt(prompt)
    assert said in client.said(post(server, client.path, client.body).body)


def test_a_tool_gets_only_the_arguments_that_it_declares(server: StubServer) -> None:
    client = Chat(streamed=False)
    todo = {"type": "object", "properties": {"content": {}, "status": {}}}
    offered = {
        "todowrite": {"properties": {"todos": {"type": "array", "items": todo}}},
        "edit": {"properties": {key: {} for key in ("filePath", "oldString", "newString")}},
        "create": {"properties": {key: {} for key in ("path", "file_text")}},
        "devplane-post": {},
    }
    client.body["tools"] = [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name, schema in offered.items()
    ]
    client.prompt(
        script(
            [
                plan([("read", "completed"), ("write", "pending")]),
                edit("/p/a", "old", "new"),
                write("/p/b", "text"),
                mcp("devplane", "post", text="hello"),
                shell("true"),
            ]
        )
    )
    calls = post(server, client.path, client.body).body["choices"][0]["message"]["tool_calls"]
    made = {call["function"]["name"]: json.loads(call["function"]["arguments"]) for call in calls}
    todos = [{"content": "read", "status": "completed"}, {"content": "write", "status": "pending"}]
    assert made == {
        "todowrite": {"todos": todos},
        "edit": {"filePath": "/p/a", "oldString": "old", "newString": "new"},
        "create": {"path": "/p/b", "file_text": "text"},
        "devplane-post": {"text": "hello"},
        "no_tool_that_can_shell": {"command": "true", "description": "Run it"},
    }


def test_a_path_that_serves_nothing_is_not_found(server: StubServer) -> None:
    assert post(server, "/v1/embeddings", {}).status == 404


def test_events_carry_their_names_where_the_format_has_them(server: StubServer) -> None:
    client = CLIENTS["anthropic"](streamed=True)
    client.prompt(script([text("hi")]))
    with posted(server, client.path, client.body) as response:
        raw = response.read().decode()
    names = [line.removeprefix("event: ") for line in raw.splitlines() if line.startswith("event: ")]
    assert names == [event["type"] for event in events(raw)]
    assert (names[0], names[-1]) == ("message_start", "message_stop")


def test_as_a_program_it_prints_its_address_and_ends_when_asked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "conformance.model_stub", "--log", str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("http://127.0.0.1:")
        program.terminate()
        assert program.wait() == 0
