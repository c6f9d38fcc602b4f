"""Does the endpoint do what its parameters say, and what it did before?

Needs: a run of the probe `parameters`; no golden weights. Earlier runs of it, where the evidence has them.
Statistic: the matrix of measured capabilities, in the details: each feature is kept, ignored, refused or unknown, with
what that was told from. What an endpoint refuses is a capability like any other; what it accepts and ignores is told,
and is a failure only where programs rely on it or where it worked before.
Decides: *fail* when a feature of `CORE` is ignored, or one that was kept in most of the earlier runs is ignored or
refused now; *pass* when neither is so and `min_n` features could be told; else *inconclusive*. The cause is the layer
of the first such feature.
What can mislead it: what misleads the probe. A feature that draws (temperature, seed) is told from few answers: that
three hot answers of 48 tokens are the same by chance is out of the question, that a busy engine answers differently at
temperature 0 is not, so only no two alike of three count.
Source: `monitor.capabilities`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np

from monitor.capabilities import KEPT, Capability, capabilities, kept
from monitor.evidence import Card, Finding, not_answered, verdict
from monitor.results import Evidence, Metric, RunRecord, Status, Verdict
from monitor.stats.rates import wilson

CORE = frozenset({"max_tokens", "stop", "temperature", "usage"})
"""Programs rely on these; ignoring one is a failure by itself."""

_PROBES = frozenset({"parameters"})
_LAYERS: Mapping[str, str] = {
    "max_tokens": "engine", "stop": "engine", "n": "engine", "context": "template", "reasoning_effort": "template",
    "seed": "sampler", "temperature": "sampler", "top_p": "sampler", "json_object": "schema", "json_schema": "schema",
    "tool_choice_none": "decision", "tool_choice_required": "decision", "tool_choice_named": "decision",
    "parallel_tool_calls": "decision", "model_echo": "routing", "usage": "protocol", "logprobs": "protocol",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametersKept:
    """The capability matrix."""

    kind: ClassVar[str] = "parameters"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = _PROBES
    looks_back: ClassVar[int] = 16
    judges_alone: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = (KEPT,)

    min_n: int = 5
    """Fewest features that could be told for a pass."""

    def __post_init__(self) -> None:
        if self.min_n < 1:
            raise ValueError("`min_n` must be at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the newest run of the probe."""
        card = Card(detector=self.kind, version=self.version, statistic=KEPT.name, unit="share")
        runs = [run for run in evidence.runs if run.probe in _PROBES]
        newest = max(runs, key=lambda run: run.started_at).run_id if runs else None
        asked = [exchange for exchange in evidence.exchanges if exchange.run_id == newest]
        if newest is None or not any(exchange.answered for exchange in asked):
            cause, why = not_answered(evidence, _PROBES) or ("no_answers", "no complete answer")
            return verdict(card, Finding(status="inconclusive", cause=cause, reason=why), evidence, at)
        earlier = [record for record in evidence.history if record.run.probe in _PROBES]
        return verdict(card, self._finding(capabilities(asked), _before(earlier), len(earlier)), evidence, at)

    def _finding(self, now: Mapping[str, Capability], before: Mapping[str, str], n_before: int) -> Finding:
        rate = wilson(*kept(now))
        broken = [name for name in now if name in CORE and now[name].standing == "ignored"]
        lost = [
            name for name, was in before.items()
            if was == "kept" and now[name].standing in {"ignored", "refused"} and name not in broken
        ]  # fmt: skip
        status = self._status([*broken, *lost], rate.n)
        return Finding(
            status=status, cause=_cause(status, [*broken, *lost]), reason=_reason(now, broken, lost),
            effect=rate.value, low=rate.low, high=rate.high, n=rate.n, threshold=None,
            details={"k": rate.k, "capabilities": {name: one.standing for name, one in now.items()},
                     "why": {name: one.why for name, one in now.items()}, "lost": lost, "n_before": n_before},
        )  # fmt: skip

    def _status(self, wrong: Sequence[str], n: int) -> Status:
        if wrong:
            return "fail"
        return "pass" if n >= self.min_n else "inconclusive"


def _before(earlier: Sequence[RunRecord]) -> dict[str, str]:
    """What most earlier runs of the probe said of each feature, as far as they could tell."""
    told: dict[str, Counter[str]] = {}
    for record in earlier:
        for name, one in capabilities(record.exchanges).items():
            if one.standing != "unknown":
                told.setdefault(name, Counter())[one.standing] += 1
    return {
        name: standing for name, counts in told.items()
        for standing, count in counts.items() if 2 * count > counts.total()
    }  # fmt: skip


def _cause(status: Status, wrong: Sequence[str]) -> str | None:
    return None if status == "pass" else _LAYERS[wrong[0]] if wrong else "too_few"


def _reason(now: Mapping[str, Capability], broken: Sequence[str], lost: Sequence[str]) -> str:
    told = [f"{name} is ignored ({now[name].why})" for name in broken]
    told += [f"{name} worked before and is {now[name].standing} ({now[name].why})" for name in lost]
    for standing in ("ignored", "refused", "unknown"):
        names = [name for name, one in now.items() if one.standing == standing and name not in {*broken, *lost}]
        if names:
            told.append(f"{standing}: {', '.join(names)}")
    return f"{kept(now)[0]} of {len(now)} features do what they say" + "".join(f"; {one}" for one in told)


DETECTOR = ParametersKept
