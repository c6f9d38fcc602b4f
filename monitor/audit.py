"""When an audit has seen enough: evidence of several detectors joined after every round of requests.

Pure: `jobs.audit` asks, this decides. Detectors give e-values against tolerance nulls, so looking after every round is
allowed; their mean is an e-value against "all of these are as they should be", whatever they share.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from monitor.causes import Cause, explain
from monitor.results import Evidence, Status, Verdict
from monitor.stats.evalues import average_e

Level = Literal["top_logprobs", "chosen_logprobs", "text"]
Area = Literal["prompt", "weights", "sampler"]

REQUIRED: tuple[Area, ...] = ("weights", "sampler")
"""What must be decided. Another prompt would show in the weights too, also where an endpoint counts no tokens."""

AREAS: dict[str, Area] = {
    "accounting": "prompt", "logprob_fidelity": "weights", "greedy_flips": "weights", "logprob_profile": "weights",
    "sampler": "sampler",
}  # fmt: skip
"""Which detectors an audit listens to, and what each of them looks at."""

PASS_NATS = math.log(20)
"""Evidence that lets an area pass: 95% sure that what was measured is below its tolerance."""

BLIND: dict[Level, str] = {
    "top_logprobs": "long contexts, and faults that only some prompts or hours meet",
    "chosen_logprobs": "8-bit weights (one logprob per position says little), long contexts",
    "text": "8-bit weights, and anything that moves probabilities without moving the choice; long contexts",
}
"""What an audit of each level cannot see."""

_NO_SAMPLER = "the sampler, because this reference knows no whole distributions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What an audit can see: ``level`` by what the endpoint gives (None: nothing yet), ``areas`` by its reference."""

    level: Level | None
    areas: tuple[Area, ...] = REQUIRED

    @property
    def blind_to(self) -> str | None:
        """What it cannot see; None before there is an answer."""
        if self.level is None:
            return None
        return BLIND[self.level] if "sampler" in self.areas else f"{_NO_SAMPLER}; {BLIND[self.level]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where an audit stands: ``log_e`` is the joint evidence in nats, None without any, ``open`` what is undecided."""

    status: Status
    cause: Cause | None
    log_e: float | None
    open: tuple[Area, ...]

    @property
    def done(self) -> bool:
        """Whether asking on would change nothing."""
        return self.status == "fail" or not self.open


def standing(verdicts: Sequence[Verdict], *, alpha: float, areas: Sequence[Area] = REQUIRED) -> Standing:
    """Join `verdicts` of one endpoint.

    *Fail* when the mean e-value reaches ``1 / alpha``, or when prompt-token counts, which have no chance in them, are
    wrong. An area is decided when one of its detectors passes and none is suspect. *Pass* when all of `areas` are,
    which are those that the golden side can see.
    """
    heard = [verdict for verdict in verdicts if verdict.detector in AREAS]
    log_e = joint_log_e(heard)
    certain = any(verdict.status == "fail" and AREAS[verdict.detector] == "prompt" for verdict in heard)
    undecided = tuple(area for area in areas if not _decided(area, heard))
    cause = explain(heard)
    if certain or (log_e is not None and log_e >= math.log(1 / alpha)):
        return Standing(status="fail", cause=cause, log_e=log_e, open=())
    if cause is not None:
        return Standing(status="suspect", cause=cause, log_e=log_e, open=undecided)
    return Standing(status="inconclusive" if undecided else "pass", cause=None, log_e=log_e, open=undecided)


def _decided(area: Area, verdicts: Sequence[Verdict]) -> bool:
    own = [verdict for verdict in verdicts if AREAS[verdict.detector] == area]
    return any(map(_passes, own)) and not {"suspect", "fail"} & {verdict.status for verdict in own}


def _passes(verdict: Verdict) -> bool:
    """Whether a pass holds at every look.

    A detector whose interval is for one look says besides what holds at every look: ``log_e_below``, and the end
    ``anytime_high`` of the interval that is shown, which must not lie beyond the tolerance either.
    """
    below, high = verdict.details.get("log_e_below"), verdict.details.get("anytime_high")
    within = high is None or verdict.threshold is None or high <= verdict.threshold
    return verdict.status == "pass" and (below is None or below >= PASS_NATS) and within


def level_of(evidence: Evidence) -> Level | None:
    """What the endpoint's answers let an audit see; None before there is an answer."""
    entries = [exchange.choice.logprobs for exchange in evidence.exchanges if exchange.answered]
    if not entries:
        return None
    listed = [entry for some in entries for entry in some or () if entry.logprob is not None]
    if not listed:
        return "text"
    return "top_logprobs" if any(len(entry.top) > 1 for entry in listed) else "chosen_logprobs"


def joint_log_e(verdicts: Iterable[Verdict]) -> float | None:
    """Natural log of the mean e-value of those `verdicts` that carry one; None where none does."""
    values = [math.log(one.e_value) for one in verdicts if one.e_value is not None]
    return average_e(values) if values else None
