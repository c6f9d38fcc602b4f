"""The shortcut for repeated events. Oracle: the same decoder with the shortcut taken out."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.types import Capture, Exchange, Read
from monitor.wire.dispatch import decode
from monitor.wire.repeats import Repeats

TEXTS = st.sampled_from(
    ["a", " b", ".", "a.", "content", "m1", "assistant", "é\u2028", "\ud7ff😊", 'q"', "\\", "\n", "\x00", "", "\x7f"]
)
FIELDS = st.sampled_from(["content", "content", "content", "reasoning_content", "reasoning", "refusal", "unknown"])
DELTAS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(FIELDS, TEXTS | st.none(), max_size=2) | st.builds(
    dict, role=st.sampled_from(["assistant", None, ""]), content=TEXTS
)
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS, "index": st.sampled_from([0, 0, 0, 1, None, True])},
    optional={
        "finish_reason": st.sampled_from([None, None, "stop", ""]),
        "logprobs": st.none() | st.just({"content": [{"token": "t", "logprob": -1.0}]}),
        "text": TEXTS | st.none(),
        "message": st.none() | st.just({"content": "a"}),
    },
)
EVENTS = st.fixed_dictionaries(
    {"id": st.sampled_from(["c1", "c1", "a"]), "choices": CHOICES.map(lambda choice: [choice])},
    optional={
        "model": st.sampled_from(["m1", "a", None]),
        "usage": st.none() | st.just({"completion_tokens": 1}) | st.just({}),
        "error": st.none() | st.just("a"),
    },
)
BROKEN = b'{"id":"c1","choices":[{"index":0,"delta":{"content":"\xff"}}]}'
ENDS = st.sampled_from([b"[DONE]", b": ping", b"", b"{", b"[]", b'"a"', BROKEN])
WHERE = st.sampled_from(["content", "model", "id"])


def body(events: list[dict[str, Any] | bytes], *, spaced: bool) -> bytes:
    def text(value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).replace(b"\n", b" ") if spaced else orjson.dumps(value)

    return b"".join(b"data: %b\n\n" % text(event) for event in events)


def decoded(data: bytes, protocol: str = "openai_chat") -> Exchange:
    reads = tuple(Read(n, event + b"\n\n") for n, event in enumerate(data.split(b"\n\n")))
    return decode(Capture(status=200, t0_ns=0, protocol=protocol, reads=reads))


def without_shortcut(data: bytes, protocol: str = "openai_chat") -> Exchange:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Repeats, "text", lambda _self, _data: None)
        return decoded(data, protocol)


@settings(max_examples=600, deadline=None)
@given(
    EVENTS,
    st.lists(st.tuples(st.integers(1, 3), TEXTS, WHERE, EVENTS | ENDS), max_size=6),
    st.booleans(),
    st.sampled_from(["openai_chat", "openai_completions"]),
)
def test_the_shortcut_changes_nothing(first: dict[str, Any], runs: list[Any], spaced: bool, protocol: str) -> None:
    """Runs of the first event with one other text, so that patterns are learned, between events of any kind."""
    events: list[dict[str, Any] | bytes] = [first] * 4
    for count, text, where, other in runs:
        choice = first["choices"][0] | {"delta": {"content": text}}
        again = first | ({"choices": [choice]} if where == "content" else {where: text})
        events += [again] * count + [other]
    data = body(events, spaced=spaced)
    assert decoded(data, protocol) == without_shortcut(data, protocol)


@pytest.mark.parametrize("text", ["c1", "m1", "content", "assistant", "index", ".", "a"])
def test_a_text_that_stands_elsewhere_too(text: str) -> None:
    """The pattern may only be cut at the text itself, wherever else the same characters stand."""
    for tail in ({"model": text}, {"id": text, "model": text}, {text: "x"}, {"note": f'"{text}"'}):
        choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
        made = [{"choices": [choice], **tail}] * 3 + [{"choices": [choice], **tail, list(tail)[-1]: "zz"}]
        made += [{"choices": [choice | {"delta": {"content": "z"}}], **tail}] * 2
        data = body(list(made), spaced=False)
        assert decoded(data) == without_shortcut(data)
        assert decoded(data).choice.content == text * 4 + "zz"


@pytest.mark.parametrize(
    "more",
    [
        {"logprobs": {"content": [{"token": "t", "logprob": -1.0}]}},
        {"delta": {"content": "a", "reasoning": "b"}},
        {"delta": {"reasoning": "b", "content": "a"}},
        {"delta": {"content": "a", "refusal": "b"}},
        {"delta": {"content": "a", "tool_calls": [{"index": 0, "function": {"arguments": "b"}}]}},
        {"index": 1},
        {"index": None},
    ],
)
def test_what_says_more_than_a_text_is_parsed(more: dict[str, Any]) -> None:
    choice = {"index": 0, "finish_reason": None, "delta": {"content": "a"}} | more
    data = body([{"id": "c1", "choices": [choice]}] * 5, spaced=False)
    assert decoded(data) == without_shortcut(data)


def test_most_events_of_a_stream_take_the_shortcut() -> None:
    choice = {"index": 0, "finish_reason": None, "logprobs": None}
    events = [{"id": "c1", "choices": [choice | {"delta": {"content": f" {n}"}}]} for n in range(500)]
    text, found = Repeats.text, []

    def watched(self: Repeats, data: bytes) -> str | None:
        found.append(text(self, data))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Repeats, "text", watched)
        exchange = decoded(body(list(events), spaced=False))
    assert exchange.choice.content == "".join(f" {n}" for n in range(500))
    assert found.count(None) < 10
