"""Who answers which share of the requests, as the details of an identification hold it, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.stats.hypotheses import FAITHFUL, GOLDEN
from monitor.stats.matched import Match

WHOLE = 0.95
"""A share that may be as large is that of an endpoint which deviates as a whole."""

_LIKELY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of those who answer: a variant, or golden weights. ``share`` of the requests with a 95% interval.

    ``faithful`` is how likely golden weights show no more noise than faithful engines of 16 bit; None for variants and
    where that was not computed.
    """

    name: str
    share: float
    low: float
    high: float
    faithful: float | None = None

    @property
    def label(self) -> str:
        """What it is: the name of a variant, or golden's family."""
        if self.name != GOLDEN:
            return self.name
        return "golden weights" if self.faithful is None or self.faithful < _LIKELY else FAITHFUL

    @property
    def meaning(self) -> str:
        """The same in a sentence."""
        if self.name != GOLDEN:
            return self.name
        if self.faithful is None:
            return "golden weights"
        if self.faithful < _LIKELY:
            return "golden weights with more noise than 16 bit shows"
        return "the bf16 class (golden weights in 16 bit or more)"

    @property
    def range(self) -> str:
        """The interval."""
        return f"{self.low:.0%} to {self.high:.0%}"


def found_parts(found: Match) -> tuple[Part, ...]:
    """Who answers; a single one where it deviates as a whole, none where that is not known."""
    first = found.schemes[0]
    if found.share is None or found.share_low is None or found.share_high is None:
        return ()
    own = Part(name=(first.pair or (first.name,))[0], share=found.share, low=found.share_low, high=found.share_high)
    if not first.pair and found.share_high >= WHOLE:
        return (own,)
    rest = Part(
        name=first.pair[1] if first.pair else GOLDEN, share=1 - own.share, low=1 - own.high, high=1 - own.low,
        faithful=found.rest,
    )  # fmt: skip
    return own, rest


def told_parts(details: Mapping[str, Any]) -> tuple[Part, ...]:
    """Who answers, out of the details of a verdict: two where requests are routed, else none."""
    rows: Sequence[Mapping[str, Any]] = details.get("parts") or []
    return tuple(
        Part(name=str(one["name"]), share=float(one["share"]), low=float(one["low"]), high=float(one["high"]),
             faithful=one.get("faithful"))
        for one in rows if len(rows) > 1
    )  # fmt: skip


def routed_text(parts: Sequence[Part], also: str = "", *, sure: bool = True) -> str:
    """Two parts as a sentence without its end; `also` is said behind the first name."""
    own, rest = parts
    verb = "answer" if sure else "may answer"
    return (
        f"{own.share:.0%} of the requests ({own.range}) {verb} like {own.meaning}{also}, the others ({rest.range}) "
        f"like {rest.meaning}"
    )
