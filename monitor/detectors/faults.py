"""Do the answers show a fault of the catalogue, and in which layer?

Needs: the exchanges of any probe; no golden weights, no extra requests. For behavioural kinds golden's own answers to
the same requests (the probes that `paired` names).
Counts the answers that show at least one certain fault (docs/faults.md) under the policy of the endpoint's profile,
with a Wilson interval. Pairs of one request, streamed and not, at temperature 0, count as well. What is only a note
under the policy is counted in the details. Kinds that another detector names are left to it: endings and errors to
`availability`, prompt counts to `accounting`, calls of the `tools` probe to `tool_calls`, what an endpoint cannot do to
`parameters`. Behavioural kinds (loops, caps and stops not kept, sampling, sorted keys, effort, another script) prove
nothing in one answer: an exact one-sided test of matched pairs compares on how many prompts the endpoint and golden
show the sign. Other weights and cache faults need calibration and are left to `fidelity` and `long_context`.
Decides: *fail* when the interval lies above `tolerated`, or a behavioural kind has p at most `alpha`; *suspect* when
there is any fault; *pass* when there is none in `min_n` answers or more, else *inconclusive*. The cause is the layer of
the most frequent fault. Of each behavioural kind the details have k, golden's k, n, p, and the smallest rate of further
signs that so many prompts find with power 0.9.
What can mislead it: a policy that does not fit the server (set `dialect`); a gateway that repairs or breaks what the
engine sent; flags need the protocol to be known.
Source: `monitor.faults.catalogue`, `monitor.faults.behaviour`; E. B. Wilson, JASA 22 (1927), 209-212.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
import orjson

from monitor.evidence import Card, Finding, verdict
from monitor.faults.behaviour import Behaviour
from monitor.faults.catalogue import BY_NAME
from monitor.faults.find import find
from monitor.faults.kinds import Found
from monitor.faults.paired import paired
from monitor.faults.pairs import find_in_pair
from monitor.faults.profiles import Profile, profile_of
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.shape import DROPPED
from monitor.stats.rates import Rate, wilson
from monitor.types import Exchange

_POWER = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Certain faults, named."""

    kind: ClassVar[str] = "faults"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = None
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="fault_rate", unit="share", better="lower", source="monitor.faults.catalogue",
               definition="Complete answers that show a fault no other detector names / complete answers, k of n."),
    )  # fmt: skip

    tolerated: float = 0.01
    """Share of faulty answers that is no failure while the interval reaches down to it."""
    min_n: int = 5
    """Fewest complete answers without a fault for a pass."""
    paired: tuple[str, ...] = ("tools", "parameters")
    """Probes whose requests golden answers too, for behavioural kinds. A vendor's own API as reference is paid."""
    alpha: float = 0.001
    """Chance of a false alarm per behavioural kind and run."""

    def __post_init__(self) -> None:
        if not 0 <= self.tolerated < 1 or self.min_n < 1:
            raise ValueError("`tolerated` must be in [0, 1), `min_n` must be at least 1")
        if not 0 < self.alpha < 1:
            raise ValueError("`alpha` must lie between 0 and 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge all complete answers of the evidence."""
        card = Card(detector=self.kind, version=self.version, statistic="fault_rate", unit="share")
        profile = profile_of(evidence.endpoint)
        tools = {run.run_id for run in evidence.runs if run.probe == "tools"}
        judged = [
            (exchange, _left(exchange, find(exchange, profile), exchange.run_id in tools))
            for exchange in evidence.exchanges if exchange.answered and DROPPED not in exchange.flags
        ]  # fmt: skip
        forms = list(_differing([one for one in evidence.exchanges if one.run_id not in tools], profile))
        beside = paired(evidence.exchanges, evidence.answers, alpha=self.alpha)
        return verdict(card, self._finding(judged, forms, beside, profile), evidence, at)

    def _finding(
        self, judged: Sequence[tuple[Exchange, list[Found]]], forms: Sequence[tuple[str, Found]],
        beside: Sequence[Behaviour], profile: Profile,
    ) -> Finding:  # fmt: skip
        found = {exchange.exchange_id: some for exchange, some in judged}
        for exchange_id, one in forms:
            found[exchange_id] = [*found.get(exchange_id, []), one]
        faulty = {key: some for key, some in found.items() if any(one.standing == "fault" for one in some)}
        named = Counter(one.name for some in faulty.values() for one in some if one.standing == "fault")
        notes = Counter(one.name for some in found.values() for one in some if one.standing == "note")
        rate = wilson(len(faulty), len(found))
        shown = [one for one in beside if one.found and profile.standing(one.name) == "fault"]
        notes.update({one.name: one.k for one in beside if one.found and one not in shown})
        alone = self._status(rate)
        status: Status = "fail" if shown else alone
        cause = _layer_of(shown) if shown and alone != "fail" else _cause(alone, named)
        return Finding(
            status=status, cause=cause,
            reason=_reason(alone, rate, named, found, self.min_n) + _beside_golden(shown),
            effect=rate.value, low=rate.low, high=rate.high, n=rate.n, threshold=self.tolerated,
            p_value=min((one.p_value for one in beside if one.p_value is not None), default=None),
            mde=1 - (1 - _POWER) ** (1 / rate.n) if rate.n else None,
            details={"k": rate.k, "faults": dict(named), "notes": dict(notes), "profile": profile.name,
                     "layers": dict(_layers(named)), "examples": sorted(faulty)[:5], **_told(beside)},
        )  # fmt: skip

    def _status(self, rate: Rate) -> Status:
        if rate.k and rate.low is not None:
            return "fail" if rate.low > self.tolerated else "suspect"
        return "pass" if rate.n >= self.min_n else "inconclusive"


def _left(exchange: Exchange, found: Sequence[Found], of_tools: bool) -> list[Found]:
    """What is not another detector's to name."""
    # Of arguments `availability` sees only whether a JSON reader takes them at all.
    strict = "arguments_invalid" not in exchange.flags
    return [
        one for one in found
        if (BY_NAME[one.name].told_by is None or (strict and one.name == "malformed_arguments"))
        and not (of_tools and BY_NAME[one.name].of_calls)
    ]  # fmt: skip


def _differing(exchanges: Sequence[Exchange], profile: Profile) -> Iterator[tuple[str, Found]]:
    """Requests that were answered otherwise when they were streamed, by the id of the streamed exchange."""
    whole: dict[bytes, Exchange] = {}
    streamed: dict[bytes, Exchange] = {}
    for exchange in exchanges:
        if exchange.request is not None and exchange.request.temperature == 0:
            asked = exchange.request
            key = orjson.dumps((asked.messages, asked.tools, asked.extra, asked.max_tokens), default=dict)
            (streamed if asked.stream else whole).setdefault(key, exchange)
    for key, exchange in streamed.items():
        one = find_in_pair(exchange, whole[key], profile) if key in whole else None
        if one is not None:
            yield exchange.exchange_id, one


def _layers(named: Counter[str]) -> Counter[str]:
    layers: Counter[str] = Counter()
    for name, count in named.items():
        layers[BY_NAME[name].layer] += count
    return layers


def _told(beside: Sequence[Behaviour]) -> dict[str, Any]:
    """What came of each behavioural kind."""
    kinds = {
        one.name: {"k": one.k, "k_golden": one.k_reference, "n": one.n, "p_value": one.p_value, "mde": one.mde}
        for one in beside
    }
    return {"behaviour": kinds, "alpha": beside[0].alpha, "power": beside[0].power} if beside else {}


def _beside_golden(shown: Sequence[Behaviour]) -> str:
    return "".join(
        f"; {one.name} on {one.k} of {one.n} prompts, golden on {one.k_reference} (p {one.p_value:.2g})"
        for one in shown
    )


def _layer_of(shown: Sequence[Behaviour]) -> str:
    return BY_NAME[min(shown, key=lambda one: one.p_value or 0.0).name].layer


def _cause(status: Status, named: Counter[str]) -> str | None:
    if status == "pass":
        return None
    return _layers(named).most_common(1)[0][0] if named else "no_answers"


def _reason(
    status: Status, rate: Rate, named: Counter[str], found: dict[str, list[Found]], min_n: int
) -> str:
    if status == "inconclusive":
        return f"only {rate.n} complete answers, {min_n} needed"
    if not named:
        return f"none of {rate.n} complete answers shows a fault of the catalogue"
    signs = {one.name: one.sign for some in found.values() for one in some}
    told = ", ".join(f"{count} x {name} ({signs[name]})" for name, count in named.most_common(4))
    return f"{rate.k} of {rate.n} complete answers show a fault: {told}"


DETECTOR = Faults
