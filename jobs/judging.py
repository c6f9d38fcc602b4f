"""Puts the golden side to an endpoint's exchanges and runs the detectors: the pure part of the judge."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from jobs.alignment import Aligned, align
from jobs.drawing import Answers, Drawn, draw_new
from jobs.tool_draws import tool_draws
from monitor.errors import GoldenError, TaskRefusedError
from monitor.ports import Detector, NeedsNoWords, Scorer, WantsSamples
from monitor.results import (
    Evidence,
    Fingerprint,
    GoldenView,
    JudgedRun,
    Observation,
    Prediction,
    RunRecord,
    Tolerances,
    Verdict,
)
from monitor.suites.tally import Tally
from monitor.tools.draws import ToolDraws
from monitor.types import Endpoint, Exchange
from monitor.wire.timing import with_golden_tokens

_SEED = 20_261_129  # golden answers are the same whenever they are drawn


def view(records: Sequence[RunRecord], scorer: Scorer | None) -> Mapping[str, GoldenView]:
    """Golden views of all answered exchanges, by exchange id; empty without a scorer.

    All exchanges are scored in one call, so that the engine can batch them. What the engine cannot do is the problem
    that the views of those exchanges tell; it costs no others.
    """
    if scorer is None:
        return {}
    exchanges = [one for record in records if not _is_wordless(record) for one in record.exchanges if one.answered]
    aligned = [align(exchange, scorer.tokenizer) for exchange in exchanges]
    views = {item.exchange_id: item.view(None) for item in aligned if item.task is None}
    return {**views, **_scored([item for item in aligned if item.task is not None], scorer)}


def _scored(aligned: Sequence[Aligned], scorer: Scorer) -> dict[str, GoldenView]:
    """Views with scores. When the engine refuses some, halves are tried until those alone are left that it refuses."""
    if not aligned:
        return {}
    try:
        scores = scorer.score([item.task for item in aligned if item.task is not None])
    except TaskRefusedError as error:
        if len(aligned) == 1:
            return _unscored(aligned, error)
        half = len(aligned) // 2
        return {**_scored(aligned[:half], scorer), **_scored(aligned[half:], scorer)}
    except GoldenError as error:  # a server that does not answer must not be asked again for every half
        return _unscored(aligned, error)
    return {item.exchange_id: item.view(score) for item, score in zip(aligned, scores, strict=True)}


def _unscored(aligned: Sequence[Aligned], error: GoldenError) -> dict[str, GoldenView]:
    return {item.exchange_id: replace(item.view(None), problem=str(error)) for item in aligned}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenSide:
    """What the golden side adds to runs: who scored, what it saw, what is tolerated, golden answers and predictions."""

    fingerprint: Fingerprint | None = None
    views: Mapping[str, GoldenView] = field(default_factory=dict)
    tolerances: Tolerances | None = None
    samples: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    predictions: tuple[Prediction, ...] = ()
    tool_draws: Mapping[str, ToolDraws] = field(default_factory=dict)
    suite_golden: tuple[Tally, ...] = ()
    answers: Mapping[str, Exchange] = field(default_factory=dict)


def golden_side(
    records: Sequence[RunRecord], scorer: Scorer | None, detectors: Iterable[Detector], *,
    tolerances: Tolerances | None = None, drawn: Drawn | None = None,
) -> GoldenSide:  # fmt: skip
    """All that the golden side has to say about `records`, as far as `detectors` want to know.

    `tolerances` that were calibrated on other weights are left out. Golden answers are drawn only for a detector that
    wants them, and once per prompt where `drawn` is kept.
    """
    if scorer is None:
        return GoldenSide()
    mark = scorer.fingerprint
    fits = tolerances is not None and tolerances.weights_sha256 == mark.weights_sha256
    chosen = fed(detectors, records)
    wanted = max((one.draws for one in chosen if isinstance(one, WantsSamples)), default=0)
    return GoldenSide(
        fingerprint=mark, views=view(records, scorer), tolerances=tolerances if fits else None,
        samples=_samples(records, scorer, wanted, {} if drawn is None else drawn) if wanted else {},
        tool_draws=tool_draws(records, scorer, chosen, drawn),
    )  # fmt: skip


def fed(detectors: Iterable[Detector], records: Sequence[RunRecord]) -> list[Detector]:
    """Those detectors that a probe of `records` feeds."""
    return [one for one in detectors if _heard(one, records)]


def _heard(detector: Detector, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records that `detector` may look at; empty where none of them feeds it.

    A private suite keeps no words: only the detectors that name its probe, and those that need none, hear of it.
    """
    if detector.probes is not None:
        return list(records) if detector.probes & {record.run.probe for record in records} else []
    return list(records) if isinstance(detector, NeedsNoWords) else [one for one in records if not _is_wordless(one)]


def _is_wordless(record: RunRecord) -> bool:
    return bool(record.exchanges) and all(one.request and not one.request.messages for one in record.exchanges)


def _samples(records: Sequence[RunRecord], scorer: Scorer, n: int, drawn: Drawn) -> dict[str, Answers]:
    """Golden answers to all sampled requests without tools, by prompt; empty when this golden side cannot draw.

    Cases with tools have draws of their own (`jobs.tool_draws`).
    """
    asked = {
        exchange.request.prompt_id: exchange.request
        for record in records for exchange in record.exchanges
        if exchange.request and exchange.request.temperature == 1 and exchange.request.top_p in {None, 1}
        and exchange.answered and not exchange.request.tools
    }  # fmt: skip
    return draw_new(asked, scorer, n, drawn, seed=_SEED)


def judge(
    endpoint: Endpoint, records: Sequence[RunRecord], golden: GoldenSide, detectors: Iterable[Detector],
    *, at: datetime, history: Sequence[RunRecord] = (),
) -> tuple[Verdict, ...]:  # fmt: skip
    """Verdicts of those `detectors` that a probe of `records` feeds.

    Random draws follow from the run ids, so that a replay agrees. `history` are earlier runs of the probe of
    ``records[0]``, oldest first.
    """
    known: dict[str, Evidence] = {}
    found = []
    for detector in fed(detectors, records):
        heard = _heard(detector, records)
        ids = "".join(record.run.run_id for record in heard)
        if ids not in known:
            known[ids] = evidence_of(endpoint, heard, golden, history=history)
        seed = int.from_bytes(hashlib.blake2b(ids.encode(), digest_size=8).digest())
        found.append(detector.run(known[ids], at=at, rng=np.random.default_rng(seed)))
    return tuple(found)


def evidence_of(
    endpoint: Endpoint, records: Sequence[RunRecord], golden: GoldenSide, *, history: Sequence[RunRecord] = ()
) -> Evidence:
    """All that detectors may look at."""
    return Evidence(
        endpoint=endpoint,
        runs=tuple(record.run for record in records),
        exchanges=tuple(_counted(exchange, golden.views) for record in records for exchange in record.exchanges),
        golden=golden.views,
        fingerprint=golden.fingerprint,
        history=tuple(history),
        samples=golden.samples,
        tolerances=golden.tolerances,
        predictions=golden.predictions,
        tool_draws=golden.tool_draws,
        suite_golden=golden.suite_golden,
        answers=golden.answers,
    )


def _counted(exchange: Exchange, views: Mapping[str, GoldenView]) -> Exchange:
    """The exchange with its answer counted in golden tokens, where all of the answer is known."""
    seen = views.get(exchange.exchange_id)
    n = seen.completion_tokens if seen else None
    return exchange if n is None else with_golden_tokens(exchange, n)


def judged_run(record: RunRecord, golden: GoldenSide, verdicts: Sequence[Verdict], *, at: datetime) -> JudgedRun:
    """What the store keeps about a judged run: its golden views and the effects as observations for the charts."""
    own = tuple(golden.views[one.exchange_id] for one in record.exchanges if one.exchange_id in golden.views)
    observations = tuple(
        Observation(metric=verdict.statistic, value=verdict.effect, n=verdict.n, k=verdict.details.get("k"))
        for verdict in verdicts
        if verdict.effect is not None
    )
    return JudgedRun(
        run_id=record.run.run_id, endpoint=record.run.endpoint, judged_at=at,
        fingerprint=golden.fingerprint, views=own, observations=observations,
    )  # fmt: skip


