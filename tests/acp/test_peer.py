"""What one side of a connection makes of the bytes of the other."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.acp.framing import LineTooLong
from devplane.acp.jsonrpc import INVALID_REQUEST, PARSE_ERROR
from devplane.acp.peer import Answer, Call, Incoming, Malformed, Noise, Notice, Peer

MESSAGES = [
    b'{"jsonrpc":"2.0","method":"session/update","params":{"t":"\xe6\xbc\xa2"}}\n',
    b'{"jsonrpc":"2.0","id":0,"method":"ask","params":{}}\r\n',
    b'{"jsonrpc":"2.0","id":0,"result":{}}\n',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}\n',
    b'{"jsonrpc":"2.0","id":\n',
    b"[agent] ready\n",
    b"\n",
    b"\xff\xfe\n",
]

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
params = st.none() | st.lists(values) | st.dictionaries(st.text(), values)


def asking(count: int = 0) -> Peer:
    """A peer with `count` requests open: ids 0, 1, ..."""
    peer = Peer()
    for _ in range(count):
        peer.request("ask", None)
    return peer


def hear(line: str | dict[str, Any], peer: Peer | None = None) -> list[Incoming]:
    text = line if isinstance(line, str) else json.dumps(line)
    return (peer or asking()).receive(text.encode() + b"\n")


@given(
    st.lists(st.sampled_from(MESSAGES) | st.binary(max_size=40)).map(b"".join),
    st.lists(st.integers(0, 400)),
)
def test_where_the_reads_are_cut_makes_no_difference(data: bytes, places: list[int]) -> None:
    whole, parts = asking(2), asking(2)
    edges = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    heard: list[Incoming] = []
    for start, end in itertools.pairwise(edges):
        heard += parts.receive(data[start:end])
    assert heard + parts.receive_eof() == whole.receive(data) + whole.receive_eof()


@given(st.binary())
def test_no_bytes_whatever_raise(data: bytes) -> None:
    peer = asking(1)
    peer.receive(data)
    peer.receive_eof()


@given(st.text(min_size=1), params)
def test_any_params_arrive_at_the_other_side_as_they_were(method: str, sent: Any) -> None:
    here, there = Peer(), Peer()
    request_id, line = here.request(method, sent)
    assert there.receive(line) == [Call(request_id, method, sent)]
    assert there.receive(here.notify(method, sent)) == [Notice(method, sent)]


@given(values)
def test_any_result_arrives_as_it_was(result: Any) -> None:
    here, there = Peer(), Peer()
    request_id, _ = here.request("ask", None)
    assert here.receive(there.answer(request_id, result)) == [Answer(request_id, result, None)]


def test_our_ids_count_from_zero() -> None:
    peer = Peer()
    assert [peer.request("ask", None)[0] for _ in range(3)] == [0, 1, 2]


def test_a_refusal_arrives_as_an_error() -> None:
    here, there = asking(1), Peer()
    error = {"code": -32601, "message": "no such method", "data": {"method": "x"}}
    assert here.receive(there.refuse(0, -32601, "no such method", {"method": "x"})) == [
        Answer(0, None, error)
    ]


def test_g01_banners_and_logs_are_noise_and_the_frames_between_them_arrive() -> None:
    answer = b'{"jsonrpc":"2.0","id":0,"result":{}}'
    data = b"[agent] adapter ready\n\n\x1b[?25l\x1b[2J\n" + answer + b"\nwarn: slow disk\r\n"
    assert asking(1).receive(data) == [
        Noise("[agent] adapter ready"),
        Noise("\x1b[?25l\x1b[2J"),
        Answer(0, {}, None),
        Noise("warn: slow disk"),
    ]


@pytest.mark.parametrize(
    "line", ['{"level":"info","msg":"up"}', "[1, 2]", "[]", "42", '"text"', "null", "NaN", "[agent", "}{"]
)
def test_json_that_is_no_message_is_noise(line: str) -> None:
    assert hear(line) == [Noise(line)]


@pytest.mark.parametrize("line", ["", " ", "\r", "\t \r"])
def test_blank_lines_are_nothing(line: str) -> None:
    assert hear(line) == []


@pytest.mark.parametrize("around", ["{}\r", "  {}", "{} \t", "\t{}\r"])
def test_whitespace_around_a_message_is_no_part_of_it(around: str) -> None:
    assert hear(around.replace("{}", '{"method":"m"}')) == [Notice("m", None)]


def test_g06_a_broken_line_is_named_and_ends_nothing() -> None:
    peer = asking(1)
    assert hear('{"jsonrpc":"2.0","id":', peer) == [Malformed('{"jsonrpc":"2.0","id":', PARSE_ERROR)]
    assert hear({"jsonrpc": "2.0", "id": 0, "result": 1}, peer) == [Answer(0, 1, None)]


@pytest.mark.parametrize(
    "line", ['{"method":"m"} {"method":"n"}', '{"a":1}}', "{" * 200_000, '{"n":' + "9" * 5000]
)
def test_a_line_that_begins_as_a_message_and_is_none_is_malformed(line: str) -> None:
    assert hear(line) == [Malformed(line, PARSE_ERROR)]


def test_brackets_too_deep_to_follow_are_noise_and_no_crash() -> None:
    line = "[" * 200_000
    assert hear(line) == [Noise(line)]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 7},
        {"jsonrpc": "2.0", "id": 0, "params": {}},
        {"jsonrpc": "2.0", "id": 7, "method": 5},
        {"jsonrpc": "2.0", "id": True, "method": "m"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "m"},
        {"jsonrpc": "2.0", "id": {}, "method": "m"},
    ],
)
def test_an_object_with_an_id_that_is_neither_call_nor_answer_is_an_invalid_request(message: Any) -> None:
    assert hear(message, asking(1)) == [Malformed(json.dumps(message), INVALID_REQUEST)]


def test_batches_are_an_invalid_request() -> None:
    line = '[{"jsonrpc":"2.0","id":1,"method":"m"}]'
    assert hear(line) == [Malformed(line, INVALID_REQUEST)]


@pytest.mark.parametrize("request_id", [0, -1, 2**60, "0", "", "server-discover-1", None])
def test_the_other_side_may_use_any_id_it_likes(request_id: Any) -> None:
    assert hear({"jsonrpc": "2.0", "id": request_id, "method": "m"}) == [Call(request_id, "m", None)]


@pytest.mark.parametrize("request_id", ["0", 0.0, False, None, 1, [0], {}])
def test_only_the_very_id_that_was_sent_answers_a_request(request_id: Any) -> None:
    peer = asking(1)
    assert hear({"jsonrpc": "2.0", "id": request_id, "result": "wrong"}, peer) == []
    assert hear({"jsonrpc": "2.0", "id": 0, "result": "right"}, peer) == [Answer(0, "right", None)]


def test_an_answer_counts_once_and_late_ones_are_dropped() -> None:
    peer = asking(2)
    answer = {"jsonrpc": "2.0", "id": 0, "result": 1}
    assert hear(answer, peer) == [Answer(0, 1, None)]
    assert hear(answer, peer) == []
    peer.forget(1)
    assert hear({"jsonrpc": "2.0", "id": 1, "result": 1}, peer) == []


def test_an_error_that_names_no_request_is_dropped() -> None:
    assert hear({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}}, asking(1)) == []


def test_an_answer_that_left_out_its_undefined_result_is_still_an_answer() -> None:
    assert hear({"jsonrpc": "2.0", "id": 0}, asking(1)) == [Answer(0, None, None)]


def test_a_null_error_beside_a_result_is_none() -> None:
    assert hear({"jsonrpc": "2.0", "id": 0, "result": 3, "error": None}, asking(1)) == [Answer(0, 3, None)]


def test_g04_a_last_message_without_a_newline_is_heard_and_a_cut_one_is_malformed() -> None:
    peer = asking(1)
    assert peer.receive(b'{"jsonrpc":"2.0","id":0,"result":1}') == []
    assert peer.receive_eof() == [Answer(0, 1, None)]
    peer = asking(1)
    assert peer.receive(b'{"jsonrpc":"2.0","id":0,"res') == []
    assert peer.receive_eof() == [Malformed('{"jsonrpc":"2.0","id":0,"res', PARSE_ERROR)]


def test_a_line_over_the_limit_names_its_sender_and_keeps_what_came_before() -> None:
    peer = Peer(line_limit_bytes=40, who="claude")
    with pytest.raises(LineTooLong, match="claude sent a line of more than 40 bytes") as caught:
        peer.receive(b'{"method":"first"}\n' + b"x" * 41)
    assert caught.value.before == [Notice("first", None)]


def test_g02_a_long_line_in_many_reads_is_whole() -> None:
    text = "a" * (20 << 20)
    line = Peer().notify("m", {"t": text})
    peer = Peer()
    heard = [
        m for start in range(0, len(line), 1 << 16) for m in peer.receive(line[start : start + (1 << 16)])
    ]
    assert heard == [Notice("m", {"t": text})]


def test_text_that_is_no_utf8_inside_a_message_is_marked_and_the_message_arrives() -> None:
    assert asking().receive(b'{"method":"m","params":{"t":"caf\xe9"}}\n') == [Notice("m", {"t": "caf\ufffd"})]
