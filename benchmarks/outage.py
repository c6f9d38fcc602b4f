"""How long a store that was away for a day takes to get what agents kept meanwhile, and how much disk that was."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.report import Report, load
from jobs.store_client import StoreClient
from monitor.codec import encode
from monitor.results import RunRecord
from monitor.slot import Slot
from storage.spool import SqliteSpool
from tests.storage.factories import run_record, slot

NAME = "outage"
ENDPOINTS, PROBES, HOURS = 200, 6, 24
_START = datetime(2026, 3, 1, tzinfo=UTC)


def _made(n: int) -> tuple[RunRecord, Slot]:
    """The n-th run of a day: every endpoint and probe once an hour, two exchanges each."""
    pair, hour = n % (ENDPOINTS * PROBES), n // (ENDPOINTS * PROBES)
    name, probe = f"p{pair % 20}/m{pair // PROBES}", f"probe{pair % PROBES}"
    at = _START + timedelta(hours=hour, seconds=pair)
    run = run_record(f"r{n}", endpoint=name, probe=probe, at=at, slot_at=at)
    return run, slot(name, probe, at=at, run_id=f"r{n}", vantage="test")


def _kept(spool: SqliteSpool, n: int) -> float:
    """Append n runs as an agent does, one transaction each; return the seconds."""
    started = time.perf_counter()
    for i in range(n):
        run, one = _made(i)
        spool.append([("run", encode(run)), ("slot", encode(one))])
    return time.perf_counter() - started


async def _drained(spool: SqliteSpool, url: str) -> float:
    store = StoreClient(url)
    started = time.perf_counter()
    await store.push(spool)
    await store.aclose()
    return time.perf_counter() - started


def run(report: Report) -> None:
    """A day of 200 endpoints with six probes an hour."""
    n = ENDPOINTS * PROBES * HOURS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spool.sqlite"
        spool = SqliteSpool(path, writer="agent-test")
        kept_s = _kept(spool, n)
        size = sum(one.stat().st_size for one in path.parent.glob("spool.sqlite*")) / 1e6
        line = [sys.executable, "-m", "jobs.store_process", "--path", str(Path(folder) / "store.duckdb"), "--port", "0"]
        process = subprocess.Popen(line, stdout=subprocess.PIPE)
        try:
            told = process.stdout.readline() if process.stdout is not None else b""
            drained_s = asyncio.run(_drained(spool, json.loads(told)["url"]))
        finally:
            process.terminate()
            process.wait()
        spool.close()
    rows = [
        ["runs kept in the spool", n], ["size of the spool, MB", size], ["appends a second", n / kept_s],
        ["drained in, s", drained_s], ["runs a second", n / drained_s],
    ]  # fmt: skip
    report.table(f"A day's outage, load {load()}", ["what", "value"], rows)
