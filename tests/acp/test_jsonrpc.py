"""Envelopes on the wire, byte for byte, and errors in both directions."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, ValidationError

from devplane.acp.jsonrpc import (
    CallRefused,
    PeerError,
    Request,
    Response,
    Server,
    error_of,
    to_line,
)
from devplane.errors import Refused


def test_empty_params_are_sent_and_absent_ones_are_not() -> None:
    assert to_line(Request("m", {}, 0)) == b'{"jsonrpc":"2.0","method":"m","id":0,"params":{}}\n'
    assert to_line(Request("m", [], 0)) == b'{"jsonrpc":"2.0","method":"m","id":0,"params":[]}\n'
    assert to_line(Request("m", None)) == b'{"jsonrpc":"2.0","method":"m"}\n'


def test_an_answer_without_a_result_says_null() -> None:
    assert to_line(Response("a", None)) == b'{"jsonrpc":"2.0","id":"a","result":null}\n'


def test_text_goes_out_as_utf8_and_half_a_surrogate_pair_as_its_escape() -> None:
    assert (
        to_line(Request("m", {"t": "漢😀"}))
        == '{"jsonrpc":"2.0","method":"m","params":{"t":"漢😀"}}\n'.encode()
    )
    line = to_line(Request("m", {"t": "漢\ud83d"}))
    assert json.loads(line)["params"] == {"t": "漢\ud83d"}
    assert b"\\ud83d" in line


def test_line_breaks_in_text_do_not_break_the_line() -> None:
    assert to_line(Request("m", {"t": "a\nb\r\u2028"})).count(b"\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        ({"code": -32000, "message": "no", "data": {"k": 1}}, -32000, "no", {"k": 1}),
        ({"code": 429, "message": "quota"}, 429, "quota", None),
        ({"code": "x", "message": None}, -32603, "", None),
        ("just words", -32603, "just words", None),
        (["odd"], -32603, '["odd"]', None),
    ],
)
def test_an_error_reply_is_read_whatever_shape_it_has(
    error: object, code: int, message: str, data: object
) -> None:
    read = PeerError.of(error)
    assert (read.code, read.message, read.data) == (code, message, data)
    assert str(read)


class Wanted(BaseModel):
    name: str
    count: int
    more: list[int]
    last: str


def test_wrong_params_are_named_in_one_line_without_their_values() -> None:
    with pytest.raises(ValidationError) as caught:
        Wanted.model_validate({"name": 1, "count": "secret-count", "more": ["a"]})
    error = error_of(caught.value)
    assert error["code"] == -32602
    assert "name:" in error["message"]
    assert "count:" in error["message"]
    assert "(and 1 more)" in error["message"]
    assert "secret" not in error["message"]
    assert "\n" not in error["message"]


def test_our_own_errors_keep_their_kind_and_hint_on_the_way() -> None:
    error = error_of(Refused("not trusted", hint="Trust it."))
    assert error == {
        "code": -32000,
        "message": "not trusted",
        "data": {"exit_status": 4, "hint": "Trust it."},
    }


def test_a_handler_may_choose_the_code_of_its_refusal() -> None:
    assert error_of(CallRefused(-32002, "no such file")) == {"code": -32002, "message": "no such file"}


def test_a_server_has_no_method_until_one_is_registered_and_no_magic_attributes() -> None:
    server = Server()
    assert server.registered("fs/read") is None
    server.register("fs/read", print)
    assert server.registered("fs/read") is print
    server.note = "an attribute"
    assert server.registered("note") is None
    with pytest.raises(AttributeError):
        _ = server.absent
