"""Which fault explains the others: one named cause out of what all detectors say."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.results import Status, Verdict

PRECEDENCE = (
    "template", "tokenizer", "template or tokenizer", "different_model", "engine", "kv_cache", "routing", "weights",
    "sampler",
)  # fmt: skip
"""From the fault that explains all that follows it to the one that explains least.

Another prompt makes every token differ, so weights are not judged behind it; another model makes nonsense of a
temperature; a share of the requests in 4 bit looks like slightly worse weights on average. A cause that is not listed
comes last.
"""

OF_WEIGHTS = frozenset({"logprob_fidelity", "logprob_profile", "greedy_flips"})
"""Detectors that see the weights without the sampler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The named fault, the detector whose verdict names it, and that verdict's reason."""

    cause: str
    detector: str
    reason: str


def explain(verdicts: Sequence[Verdict]) -> Cause | None:
    """Return the cause that explains the worst verdicts; None when nothing fails or is suspect.

    Among failing verdicts (suspect ones, when none fails) the first cause of `PRECEDENCE` is named.
    """
    named = _named(verdicts, "fail") or _named(verdicts, "suspect")
    if not named:
        return None
    cleared = any(one.detector in OF_WEIGHTS and one.status == "pass" for one in verdicts)
    first = min(named, key=lambda verdict: _rank(_cause(verdict, cleared=cleared)))
    return Cause(cause=_cause(first, cleared=cleared), detector=first.detector, reason=first.reason)


def _cause(verdict: Verdict, *, cleared: bool) -> str:
    """The cause that `verdict` names; sampled tokens alone cannot clear the weights, what looks at those can."""
    of_sampler = verdict.detector == "sampler" and verdict.cause == "weights"
    return "sampler" if of_sampler and cleared else str(verdict.cause)


def _named(verdicts: Sequence[Verdict], status: Status) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.status == status and verdict.cause]


def _rank(cause: str) -> int:
    return PRECEDENCE.index(cause) if cause in PRECEDENCE else len(PRECEDENCE)
