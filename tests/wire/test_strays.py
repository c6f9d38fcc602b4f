"""What stands where nobody looks for it: errors and usage in choices, other models, calls without index, long ids."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from monitor.types import Capture, Exchange, Read, Request
from monitor.wire.dispatch import decode
from monitor.wire.tool_calls import CallDelta, CallSlots

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
ASKED = Request(prompt_id="p", messages=(), max_tokens=9)


def chunk(text: str = "", finish: str | None = None, /, **choice: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish, **choice}]}


def stream(*events: dict[str, Any], **fields: Any) -> Exchange:
    body = b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events) + DONE
    return decode(Capture(status=200, reads=(Read(0, body),), **fields))


def whole(body: dict[str, Any], status: int = 200, **fields: Any) -> Exchange:
    capture = Capture(status=status, reads=(Read(0, orjson.dumps(body)),), request=replace(ASKED, stream=False))
    return decode(replace(capture, **fields))


def test_an_error_in_a_choice_is_an_error_whatever_follows() -> None:
    failed = chunk("a", error={"code": 502, "message": "upstream"})
    exchange = stream(failed, chunk("b", "stop"))
    assert (exchange.outcome, exchange.error) == ("error_in_stream", "upstream")
    assert "error_code:502" in exchange.flags
    assert stream(chunk("a"), chunk("b"), chunk("c", error="boom"), chunk("", "stop")).error == "boom"
    answer = {"index": 0, "message": {"content": "a"}, "finish_reason": "stop", "error": {"message": "x"}}
    assert whole({"choices": [answer]}).outcome == "error_in_stream"
    assert stream(chunk("a", error=None), chunk("b", "stop", error={})).outcome == "ok"


def test_usage_in_a_choice_or_in_a_vendors_own_object() -> None:
    for exchange in (
        stream(chunk("a"), chunk("", "stop", usage=USAGE)),
        whole({"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop", "usage": USAGE}]}),
    ):
        assert (exchange.usage, exchange.flags) == (USAGE, ("usage_in_choice",))
    for exchange in (
        stream(chunk("a"), chunk("", "stop") | {"x_groq": {"id": "r", "usage": USAGE}}),
        whole({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "x_groq": {"usage": USAGE}}),
    ):
        assert exchange.usage == USAGE
        assert "usage_in:x_groq" in exchange.flags


def test_usage_in_its_place_wins() -> None:
    other = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    exchange = stream(chunk("a", "stop") | {"x_groq": {"usage": other}, "usage": USAGE})
    assert (exchange.usage, exchange.flags) == (USAGE, ())
    exchange = stream(chunk("a", "stop") | {"x_groq": {"usage": other}}, {"choices": [], "usage": USAGE})
    assert exchange.usage == USAGE


@pytest.mark.parametrize(
    ("asked", "models", "want"),
    [
        ("m", ["m", "m"], set()),
        ("m", ["m", "z"], {"model_mismatch"}),
        ("m", ["acme/m", "m-2025-01-01", "m"], {"model_dated"}),
        (None, ["m", "z"], {"model_mismatch"}),
        (None, ["acme/m", "m"], set()),
        (None, [], set()),
        ("m", [], {"model_unnamed"}),
    ],
)
def test_every_model_that_is_named_counts(asked: str | None, models: list[str], want: set[str]) -> None:
    events = [chunk("a") | {"model": name} for name in models] + [chunk("b", "stop")]
    sent = b"" if asked is None else orjson.dumps({"model": asked, "stream": True})
    assert {flag for flag in stream(*events, sent=sent).flags if flag.startswith("model_")} == want


class _OnlyTheLast(list[Any]):
    """A list that may not be searched."""

    def __iter__(self) -> Any:
        raise AssertionError("searched")

    __reversed__ = __iter__


def test_calls_without_an_index_are_found_without_a_search() -> None:
    slots = CallSlots({}, _OnlyTheLast())
    for n in (0, 1, 2, 0, 2):
        slots.add(CallDelta(None, f"c{n}", f"f{n}", "1"))
    assert [list.__getitem__(slots.slots, n).arguments for n in range(3)] == ["11", "1", "11"]


def test_ids_and_words_are_as_long_as_real_ones() -> None:
    exchange = stream(chunk("a", "stop"), headers=(("x-request-id", "r" * 60_000),))
    assert exchange.request_id == "r" * 256
    page = decode(Capture(status=200, reads=(Read(0, b"<html>"),), headers=(("content-type", "t" * 60_000),)))
    assert 0 < len(page.error or "") <= 200
    odd = decode(Capture(status=200, reads=(Read(0, b"x"),), headers=(("content-encoding", "e" * 60_000),)))
    assert 0 < len(odd.error or "") <= 200
    assert len("".join(odd.flags)) < 100


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"message": "This model's maximum context length is 4096 tokens", "param": "max_tokens"}, "http_4xx"),
        ({"message": "too long", "param": "messages", "code": "context_length_exceeded"}, "http_4xx"),
        ({"message": "too long", "param": "max_tokens", "code": "context_length_exceeded"}, "http_4xx"),
        ({"message": "max_tokens is too large: at most 4096", "param": "max_tokens"}, "unsupported_param"),
        ({"message": "Unsupported parameter: 'context'", "code": "unsupported_parameter"}, "unsupported_param"),
        ({"message": "logprobs are not supported"}, "unsupported_param"),
    ],
)
def test_a_prompt_that_is_too_long_is_no_unsupported_parameter(error: dict[str, Any], outcome: str) -> None:
    assert whole({"error": error}, 400).outcome == outcome


BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}}
GIVEN = {**BLOCK, "content_block": {**BLOCK["content_block"], "input": {"a": 1}}}  # type: ignore[dict-item]
PLACEHOLDER = {**BLOCK, "content_block": {**BLOCK["content_block"], "input": {}}}  # type: ignore[dict-item]
PIECE = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"b":2}'}}
ENDED = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}


@pytest.mark.parametrize(
    ("events", "arguments"),
    [
        ([GIVEN, ENDED, {"type": "message_stop"}], ['{"a":1}']),
        ([GIVEN, {"type": "message_stop"}], ['{"a":1}']),
        ([GIVEN], ['{"a":1}']),
        ([GIVEN, {**GIVEN, "index": 1}, ENDED], ['{"a":1}', '{"a":1}']),
        ([GIVEN, PIECE, ENDED], ['{"b":2}']),
        ([PLACEHOLDER, ENDED], ["{}"]),
        ([PLACEHOLDER], [""]),
    ],
)
def test_the_input_at_the_start_of_a_block_counts_without_its_end(events: list[Any], arguments: list[str]) -> None:
    """Only a placeholder of a stream that was cut says nothing."""
    body = b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events)
    exchange = decode(Capture(protocol="anthropic_messages", status=200, reads=(Read(0, body),)))
    assert [call.arguments for call in exchange.choice.tool_calls] == arguments
