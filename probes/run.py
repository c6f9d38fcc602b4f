"""Runs one probe against one endpoint and makes the record that travels to the store and the judge."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from monitor.codec import encode
from monitor.ports import Client, Clock, Probe, ProbeContext
from monitor.results import Run, RunRecord
from monitor.types import Capture, Endpoint, Exchange


def _quiet(_done: int, _total: int) -> None:
    """Report progress to nobody."""


async def run_probe(
    probe: Probe, endpoint: Endpoint, client: Client, *, clock: Clock, seed: int, vantage: str, prober_version: str,
    concurrency: int, slot_at: datetime | None = None, report: Callable[[int, int], None] = _quiet,
) -> tuple[RunRecord, tuple[Capture, ...]]:  # fmt: skip
    """Run `probe`; return the record (exchanges carry their run's id) and the captures in the same order.

    ``run_id`` is a hash of who asked whom what and when, so a record that is sent twice is the same run.
    """
    started_at = clock.now()
    context = ProbeContext(clock=clock, seed=seed, concurrency=concurrency, report=report)
    result = await probe.run(client, context)
    params = encode(probe)
    run_id = _digest(vantage, endpoint.name, probe.kind, started_at.isoformat(), str(seed), params)
    exchanges = tuple(
        replace(exchange, run_id=run_id, exchange_id=f"{run_id}-{index}")
        for index, exchange in enumerate(result.exchanges)
    )
    run = Run(
        run_id=run_id, endpoint=endpoint.name, provider=endpoint.provider, model=endpoint.model,
        reference=endpoint.reference, probe=probe.kind, probe_version=probe.version,
        params_sha256=hashlib.sha256(params).hexdigest(), seed=seed, vantage=vantage, prober_version=prober_version,
        started_at=started_at, finished_at=clock.now(), slot_at=slot_at, lag_ms=_worst_lag(exchanges),
        n_exchanges=len(exchanges), n_answered=sum(exchange.answered for exchange in exchanges),
    )  # fmt: skip
    return RunRecord(run=run, exchanges=exchanges, observations=result.observations), result.captures


def _worst_lag(exchanges: tuple[Exchange, ...]) -> float | None:
    return max((exchange.lag_ms for exchange in exchanges if exchange.lag_ms is not None), default=None)


def _digest(*parts: Any) -> str:
    joined = b"\x00".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    return hashlib.blake2b(joined, digest_size=10).hexdigest()
