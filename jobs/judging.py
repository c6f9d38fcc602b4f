"""Puts the golden side to an endpoint's exchanges and runs the detectors: the pure part of the judge."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from jobs.alignment import align
from monitor.errors import GoldenError
from monitor.ports import Detector, Scorer
from monitor.results import Evidence, GoldenView, JudgedRun, Observation, RunRecord, Verdict
from monitor.types import Endpoint


def view(records: Sequence[RunRecord], scorer: Scorer | None) -> Mapping[str, GoldenView]:
    """Golden views of all answered exchanges, by exchange id; empty without a scorer.

    All exchanges are scored in one call, so that the engine can batch them. What the engine cannot do is the problem
    that the views tell.
    """
    if scorer is None:
        return {}
    exchanges = [exchange for record in records for exchange in record.exchanges if exchange.answered]
    aligned = [align(exchange, scorer.tokenizer) for exchange in exchanges]
    scored = [item for item in aligned if item.task is not None]
    try:
        scores = scorer.score([item.task for item in scored if item.task is not None])
    except GoldenError as error:
        return {item.exchange_id: replace(item.view(None), problem=item.problem or str(error)) for item in aligned}
    by_exchange = {item.exchange_id: score for item, score in zip(scored, scores, strict=True)}
    return {item.exchange_id: item.view(by_exchange.get(item.exchange_id)) for item in aligned}


def judge(
    endpoint: Endpoint, records: Sequence[RunRecord], views: Mapping[str, GoldenView], scorer: Scorer | None,
    detectors: Iterable[Detector], *, at: datetime,
) -> tuple[Verdict, ...]:  # fmt: skip
    """Verdicts of all `detectors` on `records`. Random draws follow from the run ids, so that a replay agrees."""
    runs = tuple(record.run for record in records)
    evidence = Evidence(
        endpoint=endpoint,
        runs=runs,
        exchanges=tuple(exchange for record in records for exchange in record.exchanges),
        golden=views,
        fingerprint=scorer.fingerprint if scorer is not None else None,
    )
    seed = int.from_bytes(hashlib.blake2b("".join(run.run_id for run in runs).encode(), digest_size=8).digest())
    return tuple(detector.run(evidence, at=at, rng=np.random.default_rng(seed)) for detector in detectors)


def judged_run(
    record: RunRecord, views: Mapping[str, GoldenView], verdicts: Sequence[Verdict], scorer: Scorer | None,
    *, at: datetime,
) -> JudgedRun:  # fmt: skip
    """What the store keeps about a judged run: its golden views and the effects as observations for the charts."""
    own = tuple(views[exchange.exchange_id] for exchange in record.exchanges if exchange.exchange_id in views)
    observations = tuple(
        Observation(metric=verdict.statistic, value=verdict.effect, n=verdict.n, k=verdict.details.get("k"))
        for verdict in verdicts
        if verdict.effect is not None
    )
    return JudgedRun(
        run_id=record.run.run_id, endpoint=record.run.endpoint, judged_at=at,
        fingerprint=scorer.fingerprint if scorer is not None else None, views=own, observations=observations,
    )  # fmt: skip


