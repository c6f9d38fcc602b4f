"""Fifteen ways in which endpoints stream, each with a known truth; what the record says about them."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson

from benchmarks.report import Report, load
from benchmarks.wire_server import cores, take_core
from jobs.clock import SystemClock
from monitor.types import Capture, Endpoint, Exchange, Request
from monitor.wire.dispatch import decode, speaker
from probes.client import HttpClient
from probes.heartbeat import Heartbeat

NAME = "wire-scenarios"
ROUNDS = 4
MOST_BOUND_MS = 3.0
"""Rounds in which the client's own error bound is above this say nothing about 1 ms: something else had the core."""
TTFT_MS, GAP_MS, N_TOKENS = 200.0, 10.0, 100
TTFT_TOLERANCE_MS, TPOT_TOLERANCE = 1.0, 0.01

_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_BUSY_TEXT = '{"error":{"message":"slow down","type":"rate_limit_error"}}'
_BUSY = (
    "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    f"Content-Length: {len(_BUSY_TEXT)}\r\n\r\n{_BUSY_TEXT}"
)
_CHUNK = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
Sends = list[tuple[float, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A script and its truth: the sends that carry the first and the last token, and what else must be said.

    ``n_decode`` is the number of tokens after those of the first token event; None where no TPOT can be right.
    """

    name: str
    sends: Sends
    outcome: str
    first: int | None = None
    last: int | None = None
    visible: int | None = None
    n_decode: int | None = None
    close: str = "keep"


def chunk(event: dict[str, Any] | str) -> str:
    """One event in one HTTP chunk."""
    text = event if isinstance(event, str) else f"data: {orjson.dumps(event).decode()}\n\n"
    return f"{len(text.encode()):x}\r\n{text}\r\n"


def delta(finish: str | None = None, usage: int | None = None, **fields: Any) -> str:
    """A chat completion chunk."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    event = {**_CHUNK, "choices": [choice]}
    return chunk(event if usage is None else event | {"usage": counted(usage)})


def counted(n_tokens: int) -> dict[str, int]:
    """Usage of an answer of `n_tokens`."""
    return {"prompt_tokens": 9, "completion_tokens": n_tokens, "total_tokens": n_tokens + 9}


def tail(at_ms: float, *, finish: str | None = "stop", usage: int | None = N_TOKENS) -> Sends:
    """The end of a stream: finish, usage, end marker, end of body."""
    text = delta(finish=finish) if finish else ""
    if usage is not None:
        text += chunk({**_CHUNK, "choices": [], "usage": counted(usage)})
    return [(at_ms, text + chunk("data: [DONE]\n\n") + "0\r\n\r\n")]


def tokens(n: int = N_TOKENS, start_ms: float = TTFT_MS, gap_ms: float = GAP_MS, field: str = "content") -> Sends:
    """`n` token events."""
    fields: dict[str, Any] = {field: " tok"}
    return [(start_ms + index * gap_ms, delta(**fields)) for index in range(n)]


END_MS = TTFT_MS + (N_TOKENS - 1) * GAP_MS


def ordinary(name: str, before: Sends, after: Sends | None = None, *, n: int = N_TOKENS) -> Scenario:
    """Something first, then the usual tokens and the usual end."""
    sends = [(0.0, _HEAD), *before, *tokens(n), *(tail(END_MS) if after is None else after)]
    first = 1 + len(before)
    last = first + n - 1
    return Scenario(name=name, sends=sends, outcome="ok", first=first, visible=first, last=last, n_decode=n - 1)


def thinking(field: str) -> Scenario:
    """Fifty tokens of reasoning, then fifty of the answer."""
    sends = [(0.0, _HEAD), *tokens(50, 100.0, GAP_MS, field), *tokens(50, 600.0), *tail(1090.0)]
    return Scenario(name=f"reasoning in {field}", sends=sends, outcome="ok", first=1, visible=51, last=100, n_decode=99)


def broken(name: str, ending: Sends, outcome: str, close: str) -> Scenario:
    """Fifty tokens, then something else than the rest."""
    sends = [(0.0, _HEAD), *tokens(50), *ending]
    return Scenario(name=name, sends=sends, outcome=outcome, first=1, visible=1, last=50, close=close)


def scenarios() -> list[Scenario]:
    """All fifteen, as measured for the peers (docs/benchmarks.md)."""
    role = delta(role="assistant", content="")
    null = delta(role="assistant", content=None)
    multi = [(TTFT_MS + index * 100, delta(usage=10 * index + 10, content=" tok" * 10)) for index in range(10)]
    empties = [(TTFT_MS + index * GAP_MS, delta(content=" tok" if index % 2 == 0 else "")) for index in range(100)]
    stall = [*tokens(50), *tokens(50, TTFT_MS + 50 * GAP_MS + 1000)]
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}
    part = {"index": 0, "function": {"arguments": " x"}}
    calls = [(TTFT_MS, delta(tool_calls=[call]))]
    calls += [(TTFT_MS + index * GAP_MS, delta(tool_calls=[part])) for index in range(1, N_TOKENS)]
    error = chunk({"error": {"message": "engine died", "type": "server_error", "code": 500}})
    comments = [(50.0, chunk(": keep-alive\n\n")), (120.0, chunk(": keep-alive\n\n"))]
    head = [(0.0, _HEAD)]
    return [
        ordinary("role-only first event", [(50.0, role)]),
        ordinary("role with null content", [(50.0, null)]),
        thinking("reasoning_content"),
        thinking("reasoning"),
        Scenario(name="ten tokens per event", sends=[*head, *multi, *tail(1110.0)], outcome="ok", first=1, visible=1,
                 last=10, n_decode=90),
        ordinary("500 ms before the end", [], tail(END_MS + 500)),
        broken("error in the stream", [(700.0, error + "0\r\n\r\n")], "error_in_stream", "keep"),
        broken("clean end without finish", [(700.0, "0\r\n\r\n")], "truncated", "keep"),
        broken("reset", [], "truncated", "rst"),
        Scenario(name="429", sends=[(0.0, _BUSY)], outcome="rate_limited"),
        ordinary("keep-alive comments", comments),
        Scenario(name="empty content between", sends=[*head, *empties, *tail(END_MS, usage=50)], outcome="ok", first=1,
                 visible=1, last=99, n_decode=49),
        Scenario(name="no usage", sends=[*head, *tokens(), *tail(END_MS, usage=None)], outcome="ok", first=1, visible=1,
                 last=100),
        Scenario(name="stall of 1 s", sends=[*head, *stall, *tail(END_MS + 1010)], outcome="ok", first=1, visible=1,
                 last=100, n_decode=99),
        Scenario(name="tool call only", sends=[*head, *calls, *tail(END_MS, finish="tool_calls")], outcome="ok",
                 first=1, last=100, n_decode=99),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of one scenario. Errors None where there is nothing to measure."""

    name: str
    outcome: str
    ttft_error_ms: float | None
    ttfo_error_ms: float | None
    tpot_error: float | None
    bound_ms: float
    wrong: str


def judged(scenario: Scenario, exchange: Exchange, truth: dict[str, Any]) -> Judged:
    """Compare a record with what the server did."""

    def at(index: int | None) -> float | None:
        return None if index is None else (truth["sent_ns"][index] - truth["recv_ns"]) / 1e6

    first, last = at(scenario.first), at(scenario.last)
    tpot = None
    if first is not None and last is not None and scenario.n_decode is not None:
        tpot = (last - first) / scenario.n_decode
    checks = {
        "outcome": exchange.outcome == scenario.outcome,
        "TTFT": _right(exchange.ttft_ms, first, TTFT_TOLERANCE_MS),
        "TTFO": _right(exchange.ttfo_ms, at(scenario.visible), TTFT_TOLERANCE_MS),
        "last token": _right(exchange.last_token_ms, last, TTFT_TOLERANCE_MS),
        "TPOT": _right(exchange.tpot_ms, tpot, TPOT_TOLERANCE * (tpot or 1.0)),
    }
    return Judged(
        name=scenario.name, outcome=exchange.outcome, bound_ms=exchange.error_bound_ms or 0.0,
        wrong=", ".join(name for name, ok in checks.items() if not ok),
        ttft_error_ms=_apart(exchange.ttft_ms, first), ttfo_error_ms=_apart(exchange.ttfo_ms, at(scenario.visible)),
        tpot_error=exchange.tpot_ms / tpot - 1 if exchange.tpot_ms is not None and tpot is not None else None,
    )  # fmt: skip


def _apart(said: float | None, truth: float | None) -> float | None:
    return None if said is None or truth is None else said - truth


def _right(said: float | None, truth: float | None, tolerance: float) -> bool:
    if said is None or truth is None:
        return said is None and truth is None
    return abs(said - truth) <= tolerance


async def asked(port: int, n: int) -> list[Capture]:
    """`n` requests, one after the other."""
    clock = SystemClock()
    endpoint = Endpoint(name="bench/wire", provider="bench", base_url=f"http://127.0.0.1:{port}/v1", model="m")
    request = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=200)
    async with Heartbeat(clock).beating() as heartbeat:
        client = HttpClient(endpoint, speaker(endpoint), key=None, clock=clock, heartbeat=heartbeat)
        captures = [await client.send(request) for _ in range(n)]
        await client.aclose()
    return captures


def asked_all(port: int, n: int) -> list[Capture]:
    """`asked`, for a process of its own."""
    return asyncio.run(asked(port, n))


def _port(log: Path) -> int:
    """The server's port, once it has written it."""
    while not (lines := log.read_bytes().splitlines()):
        time.sleep(0.05)
    return int(lines[0])


@contextmanager
def played(wanted: Sequence[Scenario]) -> Iterator[tuple[int, Callable[[], list[dict[str, Any]]]]]:
    """A server that plays the scenarios in turn: its port, and how to read what it did, one entry per request."""
    scripts = [{"sends": scenario.sends, "close": scenario.close} for scenario in wanted]
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "scripts.json", Path(folder) / "truth.jsonl"
        path.write_bytes(orjson.dumps(scripts))
        command = [sys.executable, "-m", "benchmarks.wire_script_server", str(path)]
        with log.open("wb") as out, subprocess.Popen(command, stdout=out) as server:
            try:
                yield _port(log), lambda: [orjson.loads(line) for line in log.read_bytes().splitlines()[1:]]
            finally:
                server.kill()


def run(report: Report) -> None:
    """Play every scenario `ROUNDS` times and compare."""
    wanted = scenarios()
    _table(report, seen(wanted), len(wanted))


def seen(wanted: Sequence[Scenario], rounds: int = ROUNDS) -> list[Judged]:
    """What the product's client recorded, `rounds` times each."""
    with played(wanted) as (port, truths):
        first = partial(take_core, cores()[1], real_time=True)
        with ProcessPoolExecutor(1, get_context("spawn"), first) as other_core:
            captures = other_core.submit(asked_all, port, len(wanted) * rounds).result()
        time.sleep(0.2)  # the server writes its line after the last send
        pairs = list(zip(captures, truths(), strict=True))
    return [judged(wanted[index % len(wanted)], decode(capture), truth) for index, (capture, truth) in enumerate(pairs)]


def _table(report: Report, rows: Sequence[Judged], n_scenarios: int) -> None:
    quiet = [row for row in rows if row.bound_ms <= MOST_BOUND_MS]
    told = worst(quiet)
    n_right = sum(not row.wrong for row in told)
    n_unsaid = n_scenarios - len(told)
    report.table(
        f"Right in {n_right} of {n_scenarios} scenarios, {n_unsaid} invalid (TTFT, TTFO and last token within 1 ms, "
        f"TPOT within 1%, outcome as it must be; load {load()}). Worst of {ROUNDS} rounds, "
        f"{len(rows) - len(quiet)} of {len(rows)} left out because the client's own error bound was above "
        f"{MOST_BOUND_MS:g} ms.",
        ("scenario", "outcome", "TTFT error ms", "TTFO error ms", "TPOT error %", "verdict"),
        [
            (row.name, row.outcome, row.ttft_error_ms, row.ttfo_error_ms,
             None if row.tpot_error is None else 100 * row.tpot_error,
             f"wrong: {row.wrong}" if row.wrong else "right")
            for row in told
        ],
    )  # fmt: skip


def worst(rows: Sequence[Judged]) -> list[Judged]:
    """One row per scenario: a wrong one if there is any, else the one with the largest error."""

    def badness(row: Judged) -> tuple[bool, float]:
        return bool(row.wrong), abs(row.ttft_error_ms or 0.0)

    found: dict[str, Judged] = {}
    for row in rows:
        if row.name not in found or badness(row) > badness(found[row.name]):
            found[row.name] = row
    return list(found.values())
