"""Calibration of the detectors' metrics: a faithful and a degraded ensemble in, tolerances and separations out.

Metrics come from the detectors themselves: each is run on the evidence of one prompt at a time, and once on all prompts
that are kept. So a new detector is calibrated without a change here.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from monitor.ports import Detector
from monitor.results import Evidence, Metric, Verdict
from monitor.stats.calibration import MIN_FAITHFUL, PromptFit, fit_prompts, upper_bound
from monitor.types import Exchange

_RESOLUTION = 1e-6
_SHARE_RESOLUTION = 0.01
_AGAIN = "'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One way to serve the model, with the evidence that it gave. ``engine`` says what computed it."""

    name: str
    faithful: bool
    family: str
    engine: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberValue:
    """A metric of one member over the kept prompts; ``beyond`` whether it is worse than the tolerance."""

    name: str
    faithful: bool
    family: str
    engine: str
    value: float
    low: float | None
    high: float | None
    beyond: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCalibration:
    """What one metric can tell. ``tolerance`` is in the metric's own unit, and a lower bound where higher is better.

    ``prompts`` are losses (`PromptFit`): the sign is turned where higher is better.
    """

    metric: str
    detector: str
    unit: str
    better: str
    tolerance: float
    n_faithful: int
    members: tuple[MemberValue, ...]
    prompts: Mapping[str, PromptFit]

    @property
    def missed(self) -> tuple[str, ...]:
        """Degraded members that this metric does not tell from faithful ones."""
        return tuple(member.name for member in self.members if not (member.faithful or member.beyond))


def calibrate(
    members: Sequence[Member], detectors: Iterable[type[Detector]], *, at: datetime, seed: int = 0
) -> tuple[MetricCalibration, ...]:
    """Calibrate every metric of `detectors` that some member differs in.

    Raises
    ------
    ValueError
        With fewer than three faithful members, or no degraded one.
    """
    n_faithful = sum(member.faithful for member in members)
    if n_faithful < MIN_FAITHFUL or n_faithful == len(members):
        raise ValueError(f"{MIN_FAITHFUL} faithful members and a degraded one are needed, not {n_faithful} and "
                         f"{len(members) - n_faithful}")  # fmt: skip
    cards = [(lenient(kind), card) for kind in detectors for card in kind.metrics if card.better != "neither"]
    found = (_calibrated(members, one, card, at, np.random.default_rng(seed)) for one, card in cards)
    return tuple(one for one in found if one is not None)


def lenient(kind: type[Detector]) -> Detector:
    """Return the detector with every least amount of evidence (fields ``min_...``) as small as it lets itself be set.

    One, or two where it refuses one.
    """
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]  # every detector is a dataclass
    names = [field.name for field in fields if field.name.startswith("min_") and isinstance(field.default, int)]
    try:
        return kind(**dict.fromkeys(names, 1))
    except ValueError:
        return kind(**dict.fromkeys(names, 2))


def value_of(verdict: Verdict, card: Metric) -> float | None:
    """Return the metric `card` out of a verdict: its effect, or the number of that name in its details."""
    value: Any = verdict.effect if verdict.statistic == card.name else verdict.details.get(card.name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    counted = isinstance(value, int) and card.unit == "share" and verdict.statistic != card.name
    return value / verdict.n if counted and verdict.n else float(value)


def of_prompts(evidence: Evidence, prompts: frozenset[str]) -> Evidence:
    """Return the part of `evidence` that answers `prompts`."""
    kept = tuple(one for one in evidence.exchanges if one.request and one.request.prompt_id in prompts)
    golden = {one.exchange_id: evidence.golden[one.exchange_id] for one in kept if one.exchange_id in evidence.golden}
    return replace(evidence, exchanges=kept, golden=golden)


def of_prompt(evidence: Evidence, prompt: str) -> Evidence:
    """Return the part of `evidence` that answers `prompt`, twice: under its own name and under another.

    A detector that wants two prompts before it says anything gets them, and a mean does not change.
    """
    own = of_prompts(evidence, frozenset({prompt}))
    again = tuple(_renamed(exchange) for exchange in own.exchanges)
    golden = {f"{key}{_AGAIN}": replace(view, exchange_id=f"{key}{_AGAIN}") for key, view in own.golden.items()}
    return replace(own, exchanges=own.exchanges + again, golden={**own.golden, **golden})


def _renamed(exchange: Exchange) -> Exchange:
    asked = exchange.request
    renamed = replace(asked, prompt_id=f"{asked.prompt_id}{_AGAIN}") if asked else None
    return replace(exchange, exchange_id=f"{exchange.exchange_id}{_AGAIN}", request=renamed)


def _calibrated(
    members: Sequence[Member], detector: Detector, card: Metric, at: datetime, rng: np.random.Generator
) -> MetricCalibration | None:
    sign = -1.0 if card.better == "higher" else 1.0
    names = sorted({one.request.prompt_id for m in members for one in m.evidence.exchanges if one.request})

    def loss(member: Member, prompt: str) -> float:
        verdict = detector.run(of_prompt(member.evidence, prompt), at=at, rng=rng)
        value = value_of(verdict, card)
        return math.nan if value is None else sign * value

    table = np.array([[loss(member, prompt) for prompt in names] for member in members])
    known = table[np.isfinite(table)]
    if not known.size or np.ptp(known) == 0:
        return None
    faithful = np.array([member.faithful for member in members])
    resolution = _SHARE_RESOLUTION if card.unit == "share" else _RESOLUTION
    fitted = fit_prompts(table[faithful], table[~faithful], resolution=resolution)
    fits = dict(zip(names, fitted, strict=True))
    kept = frozenset(name for name, fit in fits.items() if fit.dropped is None)
    verdicts = [detector.run(of_prompts(member.evidence, kept), at=at, rng=rng) for member in members]
    values = [value_of(verdict, card) for verdict in verdicts]
    losses = [sign * value for value, ok in zip(values, faithful, strict=True) if ok and value is not None]
    if len(losses) < MIN_FAITHFUL:
        return None
    # A share moves in steps of one count; without this, engines that never differed would tolerate no count at all.
    step = 1 / min(verdict.n for verdict in verdicts if verdict.n) if card.unit == "share" else 0.0
    bound = upper_bound(losses) + step
    return MetricCalibration(
        metric=card.name, detector=type(detector).kind, unit=card.unit, better=card.better,
        tolerance=sign * bound + 0.0,  # never -0
        n_faithful=len(losses), prompts=fits,
        members=tuple(
            _member_value(member, verdict, card, value, beyond=sign * value > bound)
            for member, verdict, value in zip(members, verdicts, values, strict=True)
            if value is not None
        ),
    )  # fmt: skip


def _member_value(member: Member, verdict: Verdict, card: Metric, value: float, *, beyond: bool) -> MemberValue:
    own = verdict.statistic == card.name
    return MemberValue(
        name=member.name, faithful=member.faithful, family=member.family, engine=member.engine, value=value,
        low=verdict.low if own else None, high=verdict.high if own else None, beyond=beyond,
    )  # fmt: skip
