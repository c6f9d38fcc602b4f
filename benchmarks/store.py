"""How long the store's reads take as history grows: the overview, a week of one endpoint, and what the judge asks.

Each figure is the time inside the store process up to the JSON body, without the way over loopback.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks.report import Report, load
from benchmarks.store_rows import METRICS, PER_HOUR, fill
from storage.store import DuckStore
from tests.storage.factories import entries, run_record

NAME = "store"
SIZES = (1_000_000, 5_000_000, 20_000_000)
REPEATS = 7
OVERVIEW_MS, WEEK_MS = 300.0, 500.0
"""Targets at 20 million observations on two cores."""

_READING = -5
"""Priority (nice) of what is timed."""
_START = datetime(2026, 1, 1, tzinfo=UTC)
_ONE = "p7/model-7"
_BUCKETS = 300


def _week(store: DuckStore, until: datetime) -> Callable[[], Any]:
    """All that a page about one endpoint and its last seven days asks."""

    def read() -> list[Any]:
        since = until - timedelta(days=7)
        series = [store.series(_ONE, name, since=since, until=until, buckets=_BUCKETS) for name in METRICS[:4]]
        return [
            *series, store.exchanges(_ONE, limit=50, outcome=None), store.verdicts(_ONE, None, limit=100),
            store.slots(_ONE, since=since, limit=1000),
        ]  # fmt: skip

    return read


def _reads(store: DuckStore, until: datetime) -> Mapping[str, Callable[[], Any]]:
    return {
        "overview": store.overview,
        "endpoint week": _week(store, until),
        "one series, week": lambda: store.series(
            _ONE, METRICS[0], since=until - timedelta(days=7), until=until, buckets=_BUCKETS
        ),
        "one series, all": lambda: store.series(_ONE, METRICS[0], since=None, until=None, buckets=_BUCKETS),
        "50 exchanges": lambda: store.exchanges(_ONE, limit=50, outcome=None),
        "20 runs": lambda: store.runs(_ONE, "speed", limit=20),
        "unjudged": lambda: store.unjudged(limit=8),
        "100 verdicts": lambda: store.verdicts(_ONE, None, limit=100),
        "last slots": store.last_slots,
    }


def _timed_ms(read: Callable[[], Any]) -> list[float]:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter_ns()
        orjson.dumps(read())
        times.append((time.perf_counter_ns() - started) / 1e6)
    return times


def _ingest_ms(store: DuckStore, at: datetime) -> list[float]:
    times = []
    for batch in range(REPEATS):
        mark = store.mark("bench")
        runs = [run_record(f"b{batch}.{i}", endpoint=f"p{i}/model-{i}", at=at, n=2) for i in range(20)]
        packed = entries(*runs, start=mark + 1)
        started = time.perf_counter_ns()
        store.ingest("bench", packed)
        times.append((time.perf_counter_ns() - started) / 1e6)
    return times


@contextmanager
def _ahead() -> Iterator[None]:
    """Work ahead of others, where that is allowed: other work often runs on the same cores."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, _READING)
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, 0)


def _size(folder: Path, observations: int, rows: list[list[object]]) -> None:
    path = folder / f"{observations}.duckdb"
    started = time.perf_counter()
    fill(path, observations)
    filled_s = time.perf_counter() - started
    started = time.perf_counter()
    store = DuckStore(path)
    opened_s = time.perf_counter() - started
    until = _START + timedelta(hours=observations / PER_HOUR)
    millions = observations / 1e6
    rows.append([millions, "file, MB", path.stat().st_size / 1e6, None, load(), f"filled in {filled_s:.0f} s"])
    rows.append([millions, "upgrade from schema 1, ms", 1e3 * opened_s, None, load(), None])
    with _ahead():
        for name, read in _reads(store, until).items():
            times = _timed_ms(read)
            verdict = _verdict(name, observations, times)
            rows.append([millions, f"{name}, ms", median(times), max(times), load(), verdict])
        times = _ingest_ms(store, until)
    rows.append([millions, "ingest of 20 runs, ms", median(times), max(times), load(), None])
    store.close()


def _verdict(name: str, observations: int, times: list[float]) -> str | None:
    target = {"overview": OVERVIEW_MS, "endpoint week": WEEK_MS}.get(name)
    if target is None or observations < max(SIZES):
        return None
    return f"{'met' if median(times) < target else 'missed'} (< {target:.0f})"


def run(report: Report) -> None:
    """Measure every size, smallest first; sizes from ``STORE_SIZES`` (millions, comma separated) when it is set."""
    chosen = os.environ.get("STORE_SIZES")
    sizes = [int(float(one) * 1e6) for one in chosen.split(",")] if chosen else SIZES
    rows: list[list[object]] = []
    for observations in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _size(Path(folder), observations, rows)
    report.table(
        f"Median and worst of {REPEATS}; a week is four series, 50 exchanges, 100 verdicts and the slots.",
        ("million observations", "what", "median", "worst", "load", "verdict"), rows,
    )  # fmt: skip
