"""What decoding costs beside the least that it could: splitting a body into events and parsing each with orjson.

All figures of a row come from the same bytes in one process, as the smallest of several runs in CPU time, so that a
busy machine disturbs the ratio little.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import orjson

from benchmarks.report import Report
from monitor.types import Capture, Read
from monitor.wire.dispatch import decode

T = TypeVar("T")
NAME = "decode"
SIZE = 2**20
ROUNDS = 7
DONE = b"data: [DONE]\n\n"

_HEAD = {
    "id": "chatcmpl-0123456789abcdef",
    "object": "chat.completion.chunk",
    "created": 1770000000,
    "model": "meta-llama/Llama-3.1-8B-Instruct",
}


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One event of a chat stream. `more` goes beside the choices, ``logprobs`` into the choice."""
    choice = {"index": 0, "delta": delta, "logprobs": more.pop("logprobs", None), "finish_reason": finish}
    return b"data: %b\n\n" % orjson.dumps({**_HEAD, "choices": [choice], **more})


def position(n: int, n_top: int) -> tuple[str, dict[str, Any]]:
    """The text and the logprobs of token `n`. Values are float32, as engines compute them."""
    words = [f" w{(7919 * n + 104729 * k) % 50_021}" for k in range(n_top)]
    values = [float(np.float32(-0.001 - (n * 0.618) % 1 - 0.7 * k)) for k in range(n_top)]
    top = [
        {"token": word, "logprob": value, "bytes": list(word.encode())}
        for word, value in zip(words, values, strict=True)
    ]
    return words[0], {"content": [{**top[0], "top_logprobs": top}]}


def with_logprobs(n_top: int) -> Callable[[int], bytes]:
    """Events of one token each, with `n_top` alternatives."""

    def shape(n: int) -> bytes:
        text, logprobs = position(n, n_top)
        return event({"content": text}, logprobs=logprobs)

    return shape


SHAPES: dict[str, Callable[[int], bytes]] = {
    "text": lambda n: event({"content": f" word{n}"}),
    "text, role in every delta": lambda n: event({"role": "assistant", "content": f" word{n}"}),
    "text, one in five escaped": lambda n: event({"content": f" word{n}" if n % 5 else '"\n'}),
    "reasoning": lambda n: event({"reasoning_content": f" word{n}"}),
    "text and running usage": lambda n: event(
        {"content": f" word{n}"}, usage={"prompt_tokens": 5, "completion_tokens": n + 1, "total_tokens": n + 6}
    ),
    "call arguments": lambda n: event({"tool_calls": [{"index": 0, "function": {"arguments": f"a{n}"}}]}),
    "text and 5 logprobs": with_logprobs(5),
    "text and 20 logprobs": with_logprobs(20),
}


def stream(shape: Callable[[int], bytes]) -> list[bytes]:
    """The events of a stream of about `SIZE` bytes."""
    events, size = [event({"role": "assistant", "content": ""})], 0
    while size < SIZE:
        events.append(shape(len(events)))
        size += len(events[-1])
    return [*events, event({}, "stop"), DONE]


def least(body: bytes) -> None:
    """Split into events, and parse."""
    for data in body.split(b"\n\n"):
        if data and not data.endswith(b"[DONE]"):
            orjson.loads(data[6:])


def cpu_s(work: Callable[[T], object], argument: T) -> float:
    """The smallest CPU time of several runs."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work(argument)
        times.append(time.process_time() - started)
    return min(times)


def rows() -> Iterator[tuple[str, int, float, float, float, float, float]]:
    """Per shape: events, µs per event at the least, decoded from one read and from a read per event, both ratios."""
    for name, shape in SHAPES.items():
        events = stream(shape)
        body, n = b"".join(events), len(events)
        one = Capture(status=200, t0_ns=0, reads=(Read(1, body),))
        each = Capture(status=200, t0_ns=0, reads=tuple(Read(at, data) for at, data in enumerate(events)))
        floor, joined, apart = cpu_s(least, body), cpu_s(decode, one), cpu_s(decode, each)
        yield name, n, *(1e6 * took / n for took in (floor, joined, apart)), joined / floor, apart / floor


def run(report: Report) -> None:
    """Measure and report."""
    columns = ("1 MB of", "events", "split + orjson, µs/event", "one read", "many", "ratio", "ratio, many")
    report.table("Decoding against splitting and parsing, CPU time", columns, list(rows()))
    report.note("Target: a ratio of at most 3, and less than 10 µs per event.")
