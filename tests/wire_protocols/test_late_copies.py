"""What the Responses API says twice counts once, and what it says only late is not lost. Oracle: the answer."""

from itertools import combinations
from typing import Any

import orjson
import pytest

from monitor.types import Capture, Exchange, Read
from monitor.wire.dispatch import decode

LP = [{"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": []}]


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def read(*events: dict[str, Any]) -> Exchange:
    """Decoded with one read per event, in ms 1, 2, ..."""
    texts = [b"data: %b\n\n" % orjson.dumps(one) for one in events]
    reads = tuple(Read((n + 1) * 1_000_000, text) for n, text in enumerate(texts))
    return decode(Capture(protocol="openai_responses", status=200, reads=reads, t0_ns=0))


THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}], "summary": []}
SUMMARY = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hi", "logprobs": LP}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}
ITEMS = (THOUGHT, MESSAGE, CALL)


def completed(*items: dict[str, Any]) -> dict[str, Any]:
    return event("completed", response={"id": "r", "model": "m", "status": "completed", "output": list(items)})


def pieces(item: dict[str, Any], at: int) -> list[list[dict[str, Any]]]:
    """The ways in which an item comes before the end, each whole: in pieces, as a whole part, as a whole item."""
    done = [event("output_item.done", output_index=at, item=item)]
    if item is CALL:
        added = event("output_item.added", output_index=at, item={**CALL, "arguments": ""})
        delta = [event("function_call_arguments.delta", output_index=at, delta=half) for half in ('{"a"', ":1}")]
        whole = event("function_call_arguments.done", output_index=at, arguments=CALL["arguments"])
        return [[added, *delta], [added, whole], [added, *done], done]
    key = "content" if item.get("content") else "summary"
    part, number = item[key][0], {"output_index": at, f"{key}_index": 0}
    name = {"output_text": "output_text", "reasoning_text": "reasoning_text", "summary_text": "reasoning_summary_text"}
    kind, lp = name[part["type"]], {"logprobs": LP} if "logprobs" in part else {}
    empty = event(f"{kind}.delta", **number, delta="")
    delta = [event(f"{kind}.delta", **number, delta=part["text"], **lp)]
    whole = event(f"{kind}.done", **number, text=part["text"], **lp)
    ended = event("reasoning_summary_part.done" if key == "summary" else "content_part.done", **number, part=part)
    return [[empty, *delta], [whole], [ended], done]


def said(exchange: Exchange) -> tuple[Any, ...]:
    choice = exchange.choice
    calls = [(call.id, call.name, call.arguments) for call in choice.tool_calls]
    return choice.reasoning, choice.content, calls, len(choice.logprobs or ()), exchange.outcome


@pytest.mark.parametrize("late", [n for size in range(4) for n in combinations(range(3), size)])
@pytest.mark.parametrize("way", range(4))
@pytest.mark.parametrize("first", [THOUGHT, SUMMARY])
def test_every_item_counts_once_whenever_it_comes(late: tuple[int, ...], way: int, first: dict[str, Any]) -> None:
    """`late` items come in the copy at the end only, the others in one `way` and then again in all later events."""
    items = (first, *ITEMS[1:])
    early = [pieces(item, at)[way:] for at, item in enumerate(items) if at not in late]
    told = [one for ways in early for events in ways for one in events]
    exchange = read(*told, completed(*items))
    assert said(exchange) == ("hm", "Hi", [("c1", "f", '{"a":1}')], 1, "ok")
    assert exchange.choice.finish == "tool_calls"
    assert "message_differs" not in exchange.flags


def test_what_comes_late_is_timed_when_it_comes() -> None:
    exchange = read(*pieces(THOUGHT, 0)[0], *pieces(MESSAGE, 1)[3], completed(THOUGHT, MESSAGE))
    assert (exchange.ttft_ms, exchange.ttfo_ms, exchange.token_events) == (2.0, 3.0, 2)
    exchange = read(*pieces(THOUGHT, 0)[0], completed(THOUGHT, MESSAGE))
    assert (exchange.ttft_ms, exchange.ttfo_ms) == (2.0, 3.0)


def test_logprobs_that_come_behind_their_text() -> None:
    bare = event("output_text.delta", output_index=0, content_index=0, delta="Hi")
    done = event("output_text.done", output_index=0, content_index=0, text="Hi", logprobs=LP)
    assert said(read(bare, done, completed(MESSAGE))) == ("", "Hi", [], 1, "ok")
    assert said(read(bare, completed(MESSAGE))) == ("", "Hi", [], 1, "ok")


@pytest.mark.parametrize(
    "number", [{}, {"output_index": 5, "content_index": 0}, {"output_index": 0, "content_index": 3}]
)
def test_a_copy_under_other_numbers_is_the_same_answer(number: dict[str, int]) -> None:
    delta = event("output_text.delta", **number, delta="Hi", logprobs=LP)
    added = event("output_item.added", output_index=7, item=CALL)
    assert said(read(delta, added, completed(MESSAGE, CALL))) == ("", "Hi", [("c1", "f", '{"a":1}')], 1, "ok")


def test_two_messages_one_of_them_streamed() -> None:
    other = {"type": "message", "content": [{"type": "output_text", "text": "Ho"}]}
    exchange = read(*pieces(MESSAGE, 0)[0], completed(MESSAGE, other))
    assert said(exchange) == ("", "HiHo", [], 1, "ok")


LONG = "lorem ipsum " * 100
ITEM = {"type": "message", "content": [{"type": "output_text", "text": LONG}]}


@pytest.mark.parametrize(
    ("protocol", "body"),
    [
        ("openai_responses", completed(ITEM)["response"]),
        ("anthropic_messages", {"type": "message", "content": [{"type": "text", "text": LONG}]}),
        ("ollama_chat", {"model": "m", "message": {"role": "assistant", "content": LONG}, "done": True}),
        ("ollama_generate", {"model": "m", "response": LONG, "done": True}),
        ("openai_completions", {"object": "text_completion", "choices": [{"index": 0, "text": LONG}]}),
        ("openai_chat", {"choices": [{"index": 0, "message": {"content": LONG}, "finish_reason": "stop"}]}),
    ],
)
def test_a_long_text_is_kept_whole(protocol: str, body: dict[str, Any]) -> None:
    """Only names are cut to 256 characters."""
    capture = Capture(protocol=protocol, status=200, reads=(Read(1, orjson.dumps(body)),))
    assert decode(capture).choice.content == LONG
