"""Any bytes decode to a named outcome in every protocol. Oracle: the list of outcomes, and the codec."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode, protocols
from tests.wire.test_any_bytes import HEADERS, LEAVES, STATUSES, assert_sound, lax_json
from tests.wire_protocols.cases import FOLDER, read_case

KINDS = sorted(protocols())
SEEDS = [read_case(path).capture for path in sorted(FOLDER.rglob("*.sse"))]
SENT = st.sampled_from([b"", b"{", b'{"stream":true,"echo":true,"prompt":"a"}', b'{"stream":false,"options":[]}'])
KEYS = (
    "type", "error", "index", "delta", "content_block", "message", "content", "usage", "response", "output", "item",
    "output_index", "content_index", "text", "thinking", "partial_json", "input", "name", "id", "call_id", "arguments",
    "logprobs", "done", "done_reason", "tool_calls", "function", "status", "incomplete_details", "stop_reason", "model",
    "summary", "eval_count", "input_tokens", "output_tokens", "cache_read_input_tokens", "input_tokens_details",
)  # fmt: skip
TYPES = st.sampled_from([
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "text", "tool_use", "thinking", "text_delta", "input_json_delta", "thinking_delta",
    "response.output_text.delta", "response.output_text.done", "response.output_item.added",
    "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.completed",
    "response.failed", "response.incomplete", "response.reasoning_text.delta", "function_call", "message", "reasoning",
])  # fmt: skip


def an_object(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of the keys that the decoders look at, each with anything under it."""
    named = st.dictionaries(st.sampled_from(KEYS), inner | LEAVES | st.lists(inner | LEAVES, max_size=2), max_size=5)
    return st.tuples(named, TYPES | LEAVES).map(lambda pair: {**pair[0], "type": pair[1]})


OBJECTS = an_object(an_object(an_object(LEAVES)))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), HEADERS, STATUSES, SENT, st.integers(1, 40))
def test_arbitrary_bytes(data: bytes, headers: Any, status: int | None, sent: bytes, size: int) -> None:
    reads = tuple(Read(at, data[at : at + size]) for at in range(0, len(data), size))
    for kind in KINDS:
        capture = Capture(protocol=kind, sent=sent, status=status, headers=headers, reads=reads, t0_ns=-5, eof_ns=9)
        assert_sound(decode(capture))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SEEDS), st.integers(0, 10**6), st.binary(max_size=4), st.integers(0, 12))
def test_mutated_captures(seed: Capture, at: int, patch: bytes, drop: int) -> None:
    body = seed.body
    at %= len(body) + 1
    data = body[:at] + patch + body[at + drop :]
    assert_sound(decode(replace(seed, reads=(Read(1, data[:at]), Read(2, data[at:])), t0_ns=0)))


@settings(max_examples=300, deadline=None)
@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from(KINDS), st.sampled_from(["sse", "lines", "whole"]))
def test_odd_types_everywhere(objects: list[Any], kind: str, form: str) -> None:
    texts = [lax_json(value) for value in objects]
    body = {
        "sse": b"".join(b"data: " + text + b"\n\n" for text in texts),
        "lines": b"\n".join(texts),
        "whole": texts[0],
    }[form]
    assert_sound(decode(Capture(protocol=kind, status=200, reads=(Read(3, body),), t0_ns=0)))


@pytest.mark.parametrize("kind", KINDS)
def test_deep_nesting(kind: str) -> None:
    for depth in (100, 900, 1100, 20000):
        deep = b'{"a":' * depth + b"1" + b"}" * depth
        for key in (b"usage", b"message", b"delta", b"content_block", b"input", b"response", b"output"):
            inner = b'{"type":"content_block_start","' + key + b'":' + deep + b"}"
            call = b'{"type":"content_block_start","content_block":{"type":"tool_use","input":' + deep + b"}}"
            tool = b'{"message":{"tool_calls":[{"function":{"arguments":' + deep + b'}}]},"done":true}'
            for body in (inner, call, tool):
                for data in (body, b"data: " + body + b"\n\n", body + b"\n" + body + b"\n"):
                    assert_sound(decode(Capture(protocol=kind, status=200, reads=(Read(0, data),))))


def test_a_stream_of_another_protocol_is_no_answer() -> None:
    for seed in SEEDS:
        for kind in KINDS:
            exchange = decode(replace(seed, protocol=kind))
            assert_sound(exchange)
            family = {"ollama_chat", "ollama_generate"}
            related = kind == seed.protocol or {kind, seed.protocol} <= family
            if not related and {kind, seed.protocol} != {"openai_chat", "openai_completions"}:
                assert exchange.outcome not in {"ok", "ok_length"}, (seed.protocol, kind)
