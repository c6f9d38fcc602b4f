"""Captures of the native server's streams against what the server says it did."""

import re
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.wire_kernel import KernelStamps
from monitor.types import Capture
from monitor.wire.dispatch import decode

_TRUTH = re.compile(rb'"due_ns":(\d+),"sent_ns":(\d+),"recv_ns":(\d+)')
ON_TIME_MS = 10.0
"""An event is on time when it is read before the next one is due."""


class Event(NamedTuple):
    """One event: when it was read, due and sent, and when its request had been received (ns)."""

    at_ns: int
    due_ns: int
    sent_ns: int
    recv_ns: int


def events_of(capture: Capture) -> list[Event]:
    """The events of one capture, found without the decoder that they are to check."""
    return [
        Event(read.at_ns, *(int(number) for number in found))
        for read in capture.reads
        for found in _TRUTH.findall(read.data)
    ]


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def compared(captures: Sequence[Capture], stamps: KernelStamps | None) -> dict[str, Any]:
    """Errors of TTFT, TPOT and delivery, and the share of exchanges whose error bound held."""
    started = time.process_time()
    exchanges = [decode(capture) for capture in captures]
    decode_s = time.process_time() - started
    ttft_errors: list[float] = []
    tpot_errors: list[float] = []
    lags: list[float] = []
    lateness: list[float] = []
    n_events = 0
    for capture, exchange in zip(captures, exchanges, strict=True):
        events = events_of(capture)
        n_events += len(events)
        if exchange.outcome != "ok" or exchange.ttft_ms is None or exchange.tpot_ms is None:
            continue
        first, last = events[0], events[-1]
        ttft_errors.append(exchange.ttft_ms - (first.sent_ns - first.recv_ns) / 1e6)
        true_tpot = (last.sent_ns - first.sent_ns) / 1e6 / (len(events) - 1)
        tpot_errors.append(100 * (exchange.tpot_ms / true_tpot - 1))
        lags.extend((event.at_ns - event.sent_ns) / 1e6 for event in events)
        lateness.extend((event.sent_ns - event.due_ns) / 1e6 for event in events)
    span_s = _span_s(captures)
    return {
        "n_exchanges": len(captures), "n_ok": len(ttft_errors), "n_events": n_events,
        "ttft_mean_ms": statistics.fmean(ttft_errors) if ttft_errors else None,
        "ttft_p99_ms": quantile(ttft_errors, 0.99),
        "tpot_error_pct": statistics.fmean(tpot_errors) if tpot_errors else None,
        "tpot_worst_pct": max(map(abs, tpot_errors), default=None),
        "lag_p50_ms": quantile(lags, 0.5), "lag_p99_ms": quantile(lags, 0.99), "lag_max_ms": max(lags, default=None),
        "server_late_p99_ms": quantile(lateness, 0.99),
        "on_time_per_s": sum(lag <= ON_TIME_MS for lag in lags) / span_s if span_s else None,
        "bound_p50_ms": quantile([exchange.error_bound_ms or 0.0 for exchange in exchanges], 0.5),
        "valid_share": sum(exchange.measurement == "valid" for exchange in exchanges) / len(exchanges),
        "decode_us_per_event": decode_s / n_events * 1e6 if n_events else None,
    } | (_against_kernel(captures, stamps) if stamps is not None else {})  # fmt: skip


def _span_s(captures: Sequence[Capture]) -> float:
    """From the first to the last event of the load."""
    stamps = [read.at_ns for capture in captures for read in (*capture.reads[:1], *capture.reads[-1:])]
    return (max(stamps) - min(stamps)) / 1e9 if stamps else 0.0


def _against_kernel(captures: Sequence[Capture], stamps: KernelStamps) -> dict[str, Any]:
    """Read stamps minus the kernel's; a bound holds when no read of the exchange waited for longer."""
    waits_us: list[float] = []
    own_us: list[float] = []
    held = 0
    for capture in captures:
        known = [(read.at_ns, *stamps.before(read.at_ns)) for read in capture.reads]
        waits = [(at_ns - kernel_ns) / 1e3 for at_ns, kernel_ns, _ in known]
        waits_us.extend(waits)
        own_us.extend((at_ns - returned_ns) / 1e3 for at_ns, _, returned_ns in known)
        held += capture.lag_ms is not None and max(waits, default=0.0) / 1e3 <= capture.lag_ms
    return {
        "kernel_p50_us": quantile(waits_us, 0.5), "kernel_p99_us": quantile(waits_us, 0.99),
        "own_p99_us": quantile(own_us, 0.99), "bound_held": held / len(captures),
    }  # fmt: skip
