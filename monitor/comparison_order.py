"""Who is surely better than whom: an order as far as intervals allow one, and ties for the rest."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import combinations

from monitor.comparison import Estimate, Measure, Place, Ranking
from monitor.plurals import plural

APART = timedelta(hours=1)
"""Timings whose measurements lie further apart than this, and do not overlap, are not compared."""

_UNEQUAL_K = "divergences over different numbers of alternatives: the one with fewer is a lower bound"

_UNEQUAL_PROMPTS = "divergences over different prompts ({} and {}), neither of them within what is tolerated"

TIMED = frozenset({"availability", "ttft_ms", "tps"})
"""Measures that depend on the hour."""


def incomparable(measure: Measure, one: Estimate, other: Estimate) -> str | None:
    """Say why no order of two measured endpoints can be told, whatever the numbers are; None where one can."""
    if one.basis != other.basis:
        return "measured from different places" if measure.name in TIMED else "compared with different golden weights"
    if measure.name in TIMED and _apart(one, other):
        return "measured at different times"
    return None


def _apart(one: Estimate, other: Estimate) -> bool:
    spans = [(est.first_at, est.last_at) for est in (one, other)]
    (a, b), (c, d) = spans
    return a is not None and b is not None and c is not None and d is not None and (a - d > APART or c - b > APART)


def surely_better(measure: Measure, one: Estimate, other: Estimate) -> bool:
    """Whether `one` is better than `other` beyond what the intervals leave open.

    Divergences over different prompts are not told apart, unless one is tolerated and the other is not.
    Both within the smaller tolerance of the two are equally good: so far faithful engines differ from one another.
    A divergence that is computed from fewer alternatives is a lower bound of what more of them would show (data
    processing inequality), so of two that differ in k, only the one with fewer can be called worse.
    """
    if one.value is None or other.value is None or incomparable(measure, one, other):
        return False
    return is_better(measure, one, other)


def is_better(measure: Measure, one: Estimate, other: Estimate) -> bool:
    """Like `surely_better`, of two that are known to be comparable."""
    if one.value is None or other.value is None:
        return False
    if one.exact and other.exact:
        return one.value < other.value if measure.better == "lower" else one.value > other.value
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    if measure.better == "higher":
        return one.low > other.high
    return one.high < other.low and not _both_tolerated(one, other) and _enough_alternatives(one, other) and not (
        _differs_by_prompts(one, other)
    )


def _differs_by_prompts(one: Estimate, other: Estimate) -> bool:
    """Whether two divergences are over different prompts, of which some are harder than others.

    What is tolerated holds for any: one within it is better than one beyond it, whatever the two were asked.
    """
    known = one.n_prompts is not None and other.n_prompts is not None
    return known and one.n_prompts != other.n_prompts and not (_parted(one, other) or _parted(other, one))


def _parted(one: Estimate, other: Estimate) -> bool:
    if one.threshold is None or other.threshold is None or one.high is None or other.low is None:
        return False
    return one.high <= one.threshold and other.low > other.threshold


def _both_tolerated(one: Estimate, other: Estimate) -> bool:
    if one.threshold is None or other.threshold is None or one.high is None or other.high is None:
        return False
    return max(one.high, other.high) <= min(one.threshold, other.threshold)


def _enough_alternatives(better: Estimate, worse: Estimate) -> bool:
    return better.top_k is None or worse.top_k is None or better.top_k >= worse.top_k


def can_be_placed(one: Estimate) -> bool:
    """Whether anything can be told of its order: a value without an interval may be anywhere."""
    return one.apart is None and has_ends(one)


def has_ends(one: Estimate) -> bool:
    """Whether a value has an interval, or needs none."""
    return one.value is not None and (one.exact or (one.low is not None and one.high is not None))


def ranking(measure: Measure, estimates: Mapping[str, Estimate]) -> Ranking:
    """Endpoints in tiers: all of one tier are surely better than all of the next.

    Places are of those with an interval (or an exact value); others have none.
    """
    known = {name: one for name, one in sorted(estimates.items()) if can_be_placed(one)}
    beaten, remarks = _compared(measure, known)
    found = _places(beaten)
    ordered = sorted(found, key=lambda name: (found[name].best, found[name].worst, name))
    ends = list(_ends(ordered, beaten))
    return Ranking(
        measure=measure,
        tiers=tuple(tuple(ordered[start:end]) for start, end in zip([0, *ends], ends, strict=False)),
        unmeasured=tuple(sorted(name for name, one in estimates.items() if one.value is None)),
        decided=any(beaten.values()), places=found, remarks=remarks,
        without_interval=tuple(
            sorted(name for name, one in estimates.items()
                   if one.value is not None and one.apart is None and name not in known)
        ),
        apart={name: one.apart for name, one in sorted(estimates.items()) if one.apart is not None},
    )  # fmt: skip


Beaten = Mapping[str, set[str]]
"""Name to the names of those that it is surely better than."""


def _compared(measure: Measure, known: Mapping[str, Estimate]) -> tuple[Beaten, tuple[str, ...]]:
    """Look at every pair once: who is surely better, and which pairs cannot be compared, and why."""
    beaten: dict[str, set[str]] = {name: set() for name in known}
    apart: dict[str, list[str]] = {}
    for (name, one), (other_name, other) in combinations(known.items(), 2):
        why = incomparable(measure, one, other)
        if why is None:
            if is_better(measure, one, other):
                beaten[name].add(other_name)
            elif is_better(measure, other, one):
                beaten[other_name].add(name)
            why = _UNEQUAL_K if _different_k(one, other) else _prompts_remark(one, other)
        if why is not None:
            apart.setdefault(why, []).append(f"{name} and {other_name}")
    return beaten, tuple(f"{_listed(pairs)}: {why}" for why, pairs in apart.items())


def _prompts_remark(one: Estimate, other: Estimate) -> str | None:
    if not _differs_by_prompts(one, other) or _both_tolerated(one, other):
        return None
    return _UNEQUAL_PROMPTS.format(one.n_prompts, other.n_prompts)


def _places(beaten: Beaten) -> dict[str, Place]:
    better = Counter(name for names in beaten.values() for name in names)
    n = len(beaten)
    return {name: Place(best=1 + better[name], worst=n - len(worse), of=n) for name, worse in beaten.items()}


def _ends(ordered: Sequence[str], beaten: Beaten) -> Iterator[int]:
    """Where a tier ends: every name before is surely better than every name behind."""
    by_all = set(ordered)
    for index, name in enumerate(ordered, start=1):
        by_all &= beaten[name]
        if len(by_all) == len(ordered) - index:
            yield index


def _different_k(one: Estimate, other: Estimate) -> bool:
    return one.top_k is not None and other.top_k is not None and one.top_k != other.top_k


def _listed(pairs: Sequence[str], most: int = 3) -> str:
    more = len(pairs) - most
    return "; ".join(pairs[:most]) + (f"; and {plural(more, 'more pair')}" if more > 0 else "")
