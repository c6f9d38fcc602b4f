"""What is kept of an answer beyond all measure. Oracle: the bounds as docs/decode.md states them."""

import pathlib
from typing import Any

import orjson
import pytest

from jobs import capture_bytes
from monitor.errors import UsageError
from monitor.types import Capture, Exchange, Read
from monitor.wire import choice_state, tool_calls
from monitor.wire.dispatch import decode
from tests.wire.decoded import decode_file


def stream(*events: Any) -> Exchange:
    body = b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events)
    return decode(Capture(status=200, reads=(Read(0, body),)))


def test_choices() -> None:
    exchange = stream({"choices": [{"index": n, "delta": {"content": "a"}} for n in range(200)]})
    assert [choice.index for choice in exchange.choices] == list(range(128))
    assert "too_many_choices" in exchange.flags
    assert "too_many_choices" not in stream({"choices": [{"index": n, "delta": {}} for n in range(128)]}).flags


def test_calls() -> None:
    def calls(count: int) -> Exchange:
        listed = [{"index": n, "function": {"name": "f", "arguments": "{}"}} for n in range(count)]
        return stream({"choices": [{"index": 0, "delta": {"tool_calls": listed}, "finish_reason": "tool_calls"}]})

    assert len(calls(2000).choice.tool_calls) == 1024
    assert "too_many_calls" in calls(2000).flags
    assert "too_many_calls" not in calls(1024).flags


def test_logprobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_state, "MAX_LOGPROBS", 10)
    entry = {"token": "a", "logprob": -1.0, "top_logprobs": [{"token": "a", "logprob": -1.0}] * 1}
    event = {"choices": [{"index": 0, "delta": {"content": "a"}, "logprobs": {"content": [entry]}}]}
    assert len(stream(*[event] * 5).choice.logprobs or ()) == 5
    assert "too_many_logprobs" not in stream(*[event] * 5).flags
    assert len(stream(*[event] * 9).choice.logprobs or ()) == 5
    assert "too_many_logprobs" in stream(*[event] * 9).flags


def test_names() -> None:
    exchange = stream(*[{"model": f"m{n}", "provider": "p" * 999, "choices": []} for n in range(99)])
    assert exchange.models == tuple(f"m{n}" for n in range(64))
    assert exchange.providers == ("p" * 256,)
    choice = {"index": 0, "delta": {"content": "a"}, "finish_reason": "z" * 9999}
    assert stream({"choices": [choice]}).choice.finish_raw == "z" * 256


@pytest.mark.parametrize("odd", [{"x": "a" * 300}, {str(n): n for n in range(65)}, {"a": {"b": [[[[[[[[1]]]]]]]]}}])
def test_usage(odd: dict[str, Any]) -> None:
    exchange = stream({"choices": [], "usage": {"completion_tokens": 3}}, {"choices": [], "usage": odd})
    assert exchange.usage == {"completion_tokens": 3}
    assert "odd_type:usage" in exchange.flags


@pytest.mark.parametrize("odd", [{"k" * 300: 1}, {f"{n}": {f"{k}": k for k in range(60)} for n in range(20)}])
def test_a_usage_larger_in_all_than_any(odd: dict[str, Any]) -> None:
    exchange = stream({"choices": [], "usage": {"completion_tokens": 3}}, {"choices": [], "usage": odd})
    assert exchange.usage == {"completion_tokens": 3}
    assert "odd_type:usage" in exchange.flags


def test_a_sum_of_usages_is_bounded_like_one() -> None:
    """Anthropic reports usage bit by bit: new keys in each event must not add up without end."""
    events = [
        {"type": "message_delta", "delta": {}, "usage": {f"{n}-{k}": k for k in range(30)} | {"output_tokens": n}}
        for n in range(5)
    ]
    body = b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events)
    exchange = decode(Capture(protocol="anthropic_messages", status=200, reads=(Read(0, body),)))
    assert exchange.usage is not None
    assert (len(exchange.usage), exchange.usage["output_tokens"]) == (61, 1)
    assert "odd_type:usage" in exchange.flags


def test_whether_a_call_is_complete_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls under one index are told apart as long as there is budget to read their arguments."""
    listed = [{"index": 0, "id": f"c{n}", "function": {"name": "f", "arguments": '{"a":1}'}} for n in range(3)]
    event = {"choices": [{"index": 0, "delta": {"tool_calls": listed}, "finish_reason": "tool_calls"}]}
    assert [call.id for call in stream(event).choice.tool_calls] == ["c0", "c1", "c2"]
    monkeypatch.setattr(tool_calls, "_CHECKED", 10)
    assert [call.id for call in stream(event).choice.tool_calls] == ["c0", "c1"]
    assert "id_unstable" in stream(event).flags


def test_a_file_that_is_no_capture(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_bytes, "MAX_BYTES", 2**20)
    (tmp_path / "x.sse").write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(UsageError, match=r"x\.sse: larger than any capture \(1 MB\): cut it"):
        decode_file(tmp_path / "x.sse", "sse")
