"""Which fault explains the others: one named cause out of what all detectors say."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.results import Status, Verdict

PRECEDENCE = (
    "template", "tokenizer", "template or tokenizer", "different_model", "engine", "kv_cache",
    "weights or kv_cache", "routing", "weights", "sampler",
)  # fmt: skip
"""From the fault that explains all that follows it to the one that explains least.

Another prompt makes every token differ, so weights are not judged behind it; another model makes nonsense of a
temperature; a share of the requests in 4 bit looks like slightly worse weights on average. A cause that is not listed
comes last.
"""

OF_PROMPT = frozenset({"template", "tokenizer", "template or tokenizer"})

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

    Token counts of the prompt have no chance in them: what they say comes first. Else, among failing verdicts (suspect
    ones, when none fails), the first cause of `PRECEDENCE` is named.
    """
    named = _named(verdicts, "fail") or _named(verdicts, "suspect")
    if not named:
        return None
    told = next((one for one in named if one.detector == "accounting"), None)
    if told is not None:
        return Cause(cause=str(told.cause), detector=told.detector, reason=told.reason)
    cleared = any(one.detector in OF_WEIGHTS and one.status == "pass" for one in verdicts)
    counted = any(one.detector == "accounting" and one.status == "pass" for one in verdicts)
    causes = [(_cause(one, cleared=cleared, counted=counted), one) for one in named]
    cause, first = min(causes, key=lambda pair: _rank(pair[0]))
    return Cause(cause=cause, detector=first.detector, reason=first.reason)


def _cause(verdict: Verdict, *, cleared: bool, counted: bool) -> str:
    """The cause that `verdict` names, in the light of what others know.

    Sampled tokens alone cannot clear the weights, what looks at those can; and where all prompts have golden's number
    of tokens (`counted`), another prompt is not what made the answers differ.
    """
    if verdict.detector == "sampler" and verdict.cause == "weights" and cleared:
        return "sampler"
    return "weights" if counted and verdict.cause in OF_PROMPT else str(verdict.cause)


def _named(verdicts: Sequence[Verdict], status: Status) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.status == status and verdict.cause]


def _rank(cause: str) -> int:
    return PRECEDENCE.index(cause) if cause in PRECEDENCE else len(PRECEDENCE)
