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
CALLS: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    index=st.sampled_from([0, 0, 0, 1, None, True]),
    id=st.sampled_from([None, None, "", "call", 0]),
    function=st.none() | st.builds(dict, name=st.sampled_from([None, "", "f"]), arguments=TEXTS | st.none()),
)
DELTAS |= st.builds(dict, tool_calls=st.lists(CALLS, min_size=1, max_size=2), content=st.none() | st.just("a"))
LOGPROBS: list[Any] = [
    None,
    None,
    {"content": [{"token": "t", "logprob": -1.0}]},
    {"content": [{"token": "a", "logprob": -9999.0, "top_logprobs": [{"token": ".", "logprob": 2.0}]}]},
    {"content": []},
    {},
    [],
    "content",
]
USAGES: list[Any] = [None, None, {"completion_tokens": 1}, {"completion_tokens": 7}, {}, [1], 5, {"content": "a"}]
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS, "index": st.sampled_from([0, 0, 0, 1, None, True])},
    optional={
        "finish_reason": st.sampled_from([None, None, "stop", ""]),
        "logprobs": st.sampled_from(LOGPROBS),
        "text": TEXTS | st.none(),
        "message": st.none() | st.just({"content": "a"}),
    },
)
EVENTS = st.fixed_dictionaries(
    {"id": st.sampled_from(["c1", "c1", "a"]), "choices": CHOICES.map(lambda choice: [choice])},
    optional={
        "model": st.sampled_from(["m1", "a", None]),
        "usage": st.sampled_from(USAGES),
        "error": st.none() | st.just("a"),
    },
)
BROKEN = b'{"id":"c1","choices":[{"index":0,"delta":{"content":"\xff"}}]}'
ENDS = st.sampled_from([b"[DONE]", b": ping", b"", b"{", b"[]", b'"a"', BROKEN])
WHERE = st.sampled_from(["content", "arguments", "logprobs", "usage", "model", "id"])


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
        patch.setattr(Repeats, "take", lambda _self, _data, _at_ns: False)
        return decoded(data, protocol)


def again(event: dict[str, Any], text: str, where: str, beside: Any) -> dict[str, Any]:
    """`event` with other values in the places that change from event to event."""
    choice = event["choices"][0]
    if where == "content":
        return event | {"choices": [choice | {"delta": {"content": text}}]}
    if where == "arguments":
        call = {"index": 0, "function": {"arguments": text}}
        return event | {"choices": [choice | {"delta": {"tool_calls": [call]}}]}
    if where == "logprobs":
        return event | {"choices": [choice | {"delta": {"content": text}, "logprobs": beside}]}
    if where == "usage":
        return event | {"choices": [choice | {"delta": {"content": text}}], "usage": beside}
    return event | {where: text}


@settings(max_examples=800, deadline=None)
@given(
    EVENTS,
    st.lists(
        st.tuples(st.integers(1, 3), TEXTS, WHERE, st.sampled_from([*LOGPROBS, *USAGES]), EVENTS | ENDS), max_size=6
    ),
    st.booleans(),
    st.sampled_from(["openai_chat", "openai_completions"]),
)
def test_the_shortcut_changes_nothing(first: dict[str, Any], runs: list[Any], spaced: bool, protocol: str) -> None:
    """Runs of the first event with other values, so that patterns are learned, between events of any kind."""
    events: list[dict[str, Any] | bytes] = [first] * 4
    for count, text, where, beside, other in runs:
        events += [again(first, text, where, beside)] * count + [other]
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


def kinds() -> dict[str, Any]:
    """Streams of one kind of event each; what changes from event to event is their number."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": None, "logprobs": None}
    entry = {"token": "a", "logprob": -1.0}

    def of(n: int, delta: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"id": "c1", "choices": [choice | {"delta": delta} | more]}

    return {
        "text": lambda n: of(n, {"content": f" {n}"}),
        "reasoning": lambda n: of(n, {"reasoning_content": f" {n}"}),
        "calls": lambda n: of(n, {"tool_calls": [{"index": 0, "function": {"arguments": f"{n}"}}]}),
        "logprobs": lambda n: of(n, {"content": f" {n}"}, logprobs={"content": [entry | {"logprob": -1.0 - n}]}),
        "usage last": lambda n: of(n, {"content": f" {n}"}) | {"usage": {"completion_tokens": n}},
        "usage first": lambda n: {"usage": {"completion_tokens": n}} | of(n, {"content": f" {n}"}),
    }


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("kind", sorted(kinds()))
def test_most_events_of_a_stream_take_the_shortcut(kind: str, spaced: bool) -> None:
    """And say what they say without it."""
    take, found = Repeats.take, []

    def watched(self: Repeats, data: bytes, at_ns: int) -> bool:
        found.append(take(self, data, at_ns))
        return found[-1]

    data = body([kinds()[kind](n) for n in range(300)], spaced=spaced)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Repeats, "take", watched)
        exchange = decoded(data)
    assert found.count(False) < 10
    assert exchange == without_shortcut(data)
    assert exchange.token_events == 300


def test_a_value_that_nests_too_deeply_is_left_to_the_parser() -> None:
    """The parser refuses the whole event; a part of it, which nests a little less, must not be taken in its place."""
    deep = b"[" * 1022 + b"]" * 1022
    plain = b'{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":%b}}]}'
    data = b"".join(b"data: " + plain % part + b"\n\n" for part in [b"[]", b"[]", b"[]", deep, b"[]"])
    assert decoded(data) == without_shortcut(data)
    assert decoded(data).parse_errors == 1
