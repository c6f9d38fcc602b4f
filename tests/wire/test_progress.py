"""What is progress while an answer arrives: tokens, in each protocol's own words (cases TR-10 and TE-07)."""

from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode, protocols
from monitor.wire.files import load
from monitor.wire.progress import Progress
from tests.wire.golden import cases


def data(value: dict[str, Any], end: bytes = b"\n\n") -> bytes:
    name = b"event: %b\n" % value["type"].encode() if "type" in value else b""
    return name.replace(b"\n", end[: len(end) // 2]) + b"data: " + orjson.dumps(value) + end


def line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value) + b"\n"


def chat(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


START = {"type": "message_start", "message": {"id": "m", "model": "m", "content": [], "usage": {"input_tokens": 3}}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
PING = {"type": "ping"}
CREATED = {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}
ADDED = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "summary": []}}

IDLE = {
    "openai_chat": [
        b": ping\n\n", b"\n", b"\r\n", data(chat({"role": "assistant", "content": ""})), data(chat({})),
        data({"type": "heartbeat"}), b"data: : rewrapped\n\n", b"data: \n\n", b"data: {}\n\n",
        b"event: ping\ndata: {}\n\n", data({"id": "c", "choices": []}),
        data(chat({"role": "assistant", "content": ""}), b"\r\n\r\n"),
    ],
    "openai_completions": [data({"choices": [{"index": 0, "text": "", "finish_reason": None}]}), b": x\n\n"],
    "openai_responses": [data(CREATED), data({**CREATED, "type": "response.in_progress"}), data(ADDED), b":\n\n"],
    "anthropic_messages": [data(START), data(BLOCK), data(PING), b": x\n\n"],
    "ollama_chat": [b"\n", line({"model": "m", "message": {"role": "assistant", "content": ""}, "done": False})],
    "ollama_generate": [b"\n", line({"model": "m", "response": "", "done": False})],
}  # fmt: skip
TOKEN = {
    "openai_chat": data(chat({"reasoning_content": "hm"})),
    "openai_completions": data({"choices": [{"index": 0, "text": "a", "finish_reason": None}]}),
    "openai_responses": data({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}),
    "anthropic_messages": data(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{"}}
    ),
    "ollama_chat": line({"model": "m", "message": {"role": "assistant", "thinking": "hm"}, "done": False}),
    "ollama_generate": line({"model": "m", "response": "a", "done": False}),
}
END = {
    "openai_chat": b"data: [DONE]\n\n",
    "openai_completions": b"data: [DONE]\n\n",
    "openai_responses": data({"type": "response.completed", "response": {"status": "completed", "output": []}}),
    "anthropic_messages": data({"type": "message_stop"}),
    "ollama_chat": line({"model": "m", "message": {"role": "assistant", "content": ""}, "done": True}),
    "ollama_generate": line({"model": "m", "response": "", "done": True}),
}


def watched(protocol: str, bodies: list[bytes], *, each: bool) -> Progress:
    """Looked at after every read, or once at the end."""
    progress = protocols()[protocol].progress()
    stamps = list(range(1, len(bodies) + 1))
    for n in range(1, len(bodies) + 1) if each else [len(bodies)]:
        progress.look(stamps[:n], bodies[:n])
    return progress


def test_every_protocol_is_here() -> None:
    assert set(protocols()) == set(IDLE) == set(TOKEN) == set(END)


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("protocol", IDLE)
def test_only_tokens_are_progress(protocol: str, each: bool) -> None:
    idle = IDLE[protocol]
    assert watched(protocol, idle, each=each).token_ns is None
    before = watched(protocol, [*idle, TOKEN[protocol], *idle], each=each)
    assert (before.token_ns, before.done_ns) == (len(idle) + 1, None)
    ended = watched(protocol, [*idle, TOKEN[protocol], END[protocol], *idle], each=each)
    assert (ended.token_ns, ended.done_ns) == (len(idle) + 1, len(idle) + 2)


@pytest.mark.parametrize("protocol", IDLE)
def test_byte_by_byte(protocol: str) -> None:
    """Cut anywhere: the token's stamp is that of the byte that completed it, and what follows changes nothing."""
    idle = b"".join(IDLE[protocol])
    whole = idle + TOKEN[protocol] + idle
    progress = watched(protocol, [whole[n : n + 1] for n in range(len(whole))], each=True)
    assert progress.token_ns == len(idle + TOKEN[protocol])


@pytest.mark.parametrize(
    "end",
    [
        b"data: [DONE]\r\n\r\n", b"data:[DONE]\n\n", b"data: [DONE]\n", b"data: [DONE]\n\n: bye\n\n",
        b"data: [DONE]\r\r", b"data: [DONE]\n\n\n", b"event: end\ndata: [DONE]\n\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("cut", [0, 3, 9, -1])
def test_end_markers_however_written_and_cut(end: bytes, cut: int) -> None:
    """Case TE-07."""
    assert watched("openai_chat", [TOKEN["openai_chat"], end[:cut], end[cut:]], each=True).done_ns in {2, 3}


def test_comments_behind_an_unfinished_event_are_no_progress() -> None:
    comments = [b": still here\n"] * 5
    progress = watched("openai_chat", [TOKEN["openai_chat"], TOKEN["openai_chat"][:-1], *comments], each=True)
    assert progress.token_ns == 1


@pytest.mark.parametrize("start", [b'{"choices":', b"<html>", b"\x1f\x8b\x08", b"upstream error"])
def test_of_what_is_no_stream_every_read_counts_that_is_not_blank(start: bytes) -> None:
    progress = watched("openai_chat", [b"\n", start, b"more", b"\n", b" "], each=True)
    assert (progress.token_ns, progress.done_ns) == (3, None)


def test_a_flood_of_idle_events_is_bounded_and_no_progress() -> None:
    """Oracle: a count of what was parsed."""
    parsed = 0

    def reader(**_: Any) -> Any:
        nonlocal parsed
        parsed += 1
        return protocols()["openai_chat"].reader(streamed=True)

    progress = Progress(reader)
    progress.look([1, 2], [TOKEN["openai_chat"], data(chat({})) * 50_000])
    assert progress.token_ns is None
    assert parsed <= 1024


def test_an_event_too_long_for_a_keep_alive_is_progress() -> None:
    progress = watched("openai_chat", [b"data: ", *[b"x" * 40_000] * 3], each=True)
    assert progress.token_ns == 3


PIECES = st.sampled_from(
    [b"data:", b" ", b"\n", b"\r", b"\xff", b"{", b"}", b"[" * 300, b"null", b"[DONE]", *TOKEN.values(), *END.values()]
)


@given(st.lists(st.one_of(PIECES, st.binary(max_size=9)), max_size=12), st.sampled_from(sorted(TOKEN)))
def test_any_bytes_can_be_looked_at(bodies: list[bytes], protocol: str) -> None:
    """A look that raised would leave the attempt without a clock. Stamps are those of reads that were not blank."""
    for each in (True, False):
        progress = watched(protocol, bodies, each=each)
        stamps = [stamp for stamp in (progress.token_ns, progress.done_ns) if stamp is not None]
        assert all(bodies[stamp - 1] for stamp in stamps)


@pytest.mark.parametrize("case", cases()[::3])
def test_the_record_agrees(case: Any) -> None:
    """Whatever the corpus holds: the last token and the end are those of the decoder, to the read."""
    capture = load(case.data, case.format)
    body = capture.body
    reads = tuple(Read(n + 1, body[a:b]) for n, (a, b) in enumerate(pairwise([*range(0, len(body), 97), len(body)])))
    record = decode(Capture(protocol=capture.protocol, status=200, reads=reads, t0_ns=0, headers=capture.headers))
    progress = watched(capture.protocol, [read.data for read in reads], each=True)
    plain = not record.parse_errors and not record.unknown_lines and not capture.header("content-encoding")
    if record.events is not None and plain and "unterminated_final_event" not in record.flags:
        assert progress.token_ns == (None if record.last_token_ms is None else round(record.last_token_ms * 1e6))
        assert (progress.done_ns is not None) == record.done
