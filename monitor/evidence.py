"""What detectors share: picking exchanges out of the evidence, and writing verdicts."""

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from monitor.results import Evidence, GoldenPosition, GoldenView, Status, Verdict
from monitor.types import Exchange
from monitor.wire.usage import read_usage

_CERTAIN_NATS = 1e-4  # below this the endpoint's first choice has all the probability there is
_UNSURE_NATS = 0.05
_MOST_NATS = 690.0  # e to this, and to less than this, is still a number and not 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The part of a verdict that a detector decides. ``log_e`` is the natural log of the e-value."""

    status: Status
    cause: str | None
    reason: str
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    threshold: float | None = None
    p_value: float | None = None
    log_e: float | None = None
    mde: float | None = None
    band: str | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The part of a verdict that is the same for all verdicts of a detector."""

    detector: str
    version: int
    statistic: str
    unit: str


def verdict(card: Card, finding: Finding, evidence: Evidence, at: datetime) -> Verdict:
    """Make the verdict. Its id is a hash of detector, endpoint, runs and time, so that re-sending is harmless."""
    run_ids = tuple(run.run_id for run in evidence.runs)
    parts = "\x00".join((card.detector, str(card.version), evidence.endpoint.name, at.isoformat(), *run_ids))
    return Verdict(
        verdict_id=hashlib.blake2b(parts.encode(), digest_size=10).hexdigest(),
        endpoint=evidence.endpoint.name,
        detector=card.detector,
        detector_version=card.version,
        at=at,
        status=finding.status,
        cause=finding.cause,
        statistic=card.statistic,
        effect=finding.effect,
        unit=card.unit,
        low=finding.low,
        high=finding.high,
        n=finding.n,
        threshold=finding.threshold,
        p_value=finding.p_value,
        e_value=None if finding.log_e is None else math.exp(min(max(finding.log_e, -_MOST_NATS), _MOST_NATS)),
        mde=finding.mde,
        band=finding.band,
        reason=finding.reason,
        run_ids=run_ids,
        fingerprint=evidence.fingerprint.digest if evidence.fingerprint else None,
        details=dict(finding.details or {}),
    )


def asked_by(evidence: Evidence, probes: Collection[str]) -> Iterator[tuple[Exchange, GoldenView]]:
    """Yield the answered exchanges of runs of `probes` that the golden side has looked at, with its view."""
    runs = {run.run_id for run in evidence.runs if run.probe in probes}
    for exchange in evidence.exchanges:
        view = evidence.golden.get(exchange.exchange_id)
        if exchange.run_id in runs and exchange.answered and view is not None:
            yield exchange, view


def prompt_of(exchange: Exchange) -> str:
    """The cluster of the statistics: the name of the prompt."""
    return exchange.request.prompt_id if exchange.request else exchange.exchange_id


def is_misread(exchange: Exchange, view: GoldenView) -> bool | None:
    """Whether the endpoint counts another prompt than golden renders; None where it counts none."""
    reported = read_usage(exchange.usage or {}).input_total
    return None if reported is None or view.prompt_tokens is None else reported != view.prompt_tokens


def mostly_misread(pairs: Collection[tuple[Exchange, GoldenView]]) -> bool:
    """Whether the endpoint's prompt differs from golden's on most exchanges that tell: no fault of weights."""
    known = [found for exchange, view in pairs if (found := is_misread(exchange, view)) is not None]
    return bool(known) and sum(known) * 2 > len(known)


def split_is_known(view: GoldenView) -> bool:
    """Whether it is known which tokens the answer had.

    It is not where only text is there, and the endpoint counts another number of tokens than golden makes of it.
    """
    return view.tokens_from != "text" or view.canonical is not False


def not_answered(evidence: Evidence, probes: Collection[str]) -> tuple[str, str] | None:
    """Return cause and words where no run of `probes` has an answer, or no reference; None where both are there."""
    runs = {run.run_id for run in evidence.runs if run.probe in probes}
    if not runs:
        return "not_asked", f"no run of {' or '.join(sorted(probes))}"
    if not any(exchange.answered for exchange in evidence.exchanges if exchange.run_id in runs):
        return "no_answers", "no complete answer"
    return None if evidence.golden else ("no_reference", "no golden reference for this endpoint")


def says_nothing_of_weights(n: int) -> Finding:
    """Return the finding on `n` prompts or answers whose logprobs are those after the sampler."""
    return Finding(
        status="inconclusive", cause="logprob_semantics", n=n,
        reason="the endpoint is certain where golden is not: it gives logprobs after the sampler, which say nothing of "
        "the weights; go by text, or ask at temperature 1",
    )  # fmt: skip


def after_sampler(positions: Iterable[GoldenPosition]) -> bool:
    """Whether the endpoint's logprobs are those after temperature 0: all on one token, where golden is not sure.

    Nothing of the weights is left in them.
    """
    unsure = [one for one in positions if one.endpoint_top and one.golden_top1_logprob < -_UNSURE_NATS]
    return bool(unsure) and 2 * sum(max(one.endpoint_top) > -_CERTAIN_NATS for one in unsure) > len(unsure)
