"""What a run of a suite comes to: rates, the difference from golden, changes since earlier runs, and the verdict."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.percent import percent
from monitor.plurals import plural
from monitor.results import Status
from monitor.stats.confseq import mean_sequence
from monitor.stats.martingale import score_process
from monitor.suites.detectable import Rule, least_lost
from monitor.suites.paired import Difference, bootstrapped, evidence, paired, sequence, unpaired
from monitor.suites.rate import Compounded, PassRate, Tries, compounded, deviations, pass_rate, tries
from monitor.suites.tally import Pair, Tally, pairs

MIN_CASES = 10
"""Below it there is no approximate statistic, and a run is not stopped early; what is exact needs no least number."""
MIN_GRADED = 0.8
_SHORT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """When the difference from golden is a failure: shares of right answers, weighted by case.

    ``tolerance`` is a loss that faithful engines may show, ``margin`` the loss that must be out of the question for a
    pass, ``alpha`` the chance that a faithful endpoint fails. ``looks`` is whether the run may stop at any case.
    """

    alpha: float = 0.01
    tolerance: float = 0.02
    margin: float = 0.1
    looks: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1 or not 0 <= self.tolerance < self.margin < 1:
            raise ValueError("`alpha` must lie between 0 and 1, and 0 <= `tolerance` < `margin` < 1")

    @property
    def rule(self) -> Rule:
        """When pairs fail, in a run that is looked at once."""
        return Rule(alpha=self.alpha, tolerance=self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """An earlier run of the same suite on the same endpoint: its answers, and golden's of then.

    The one called ``last`` is the newest that did not fail: else a loss that stays would be found once only.
    """

    run: str
    own: tuple[Tally, ...]
    golden: tuple[Tally, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All numbers of a run. None where something could not be measured; ``reason`` says what decided.

    ``untold`` counts answers that could not be graded, by why. ``before`` are the changes since earlier runs by name,
    and ``before_runs`` which runs those are (empty in runs that earlier versions kept).
    ``weighted`` is whether some cases count more than others; ``compounding`` has no number without golden, since a
    step is wrong where golden is right.
    """

    status: Status
    cause: str | None
    reason: str
    rate: PassRate
    golden: PassRate | None
    difference: Difference | None
    log_e: float | None
    compounding: Compounded
    tries: Tries | None
    weighted: bool = False
    untold: Mapping[str, int] = field(default_factory=dict)
    before: Mapping[str, Difference] = field(default_factory=dict)
    before_runs: Mapping[str, str] = field(default_factory=dict)


def outcome(
    own: Sequence[Tally], golden: Sequence[Tally], terms: Terms, *, rng: np.random.Generator,
    untold: Mapping[str, int] | None = None, before: Mapping[str, Before] | None = None,
) -> Outcome:  # fmt: skip
    """Return what `own` answers, in the order of asking, come to beside `golden`'s and those of runs `before`."""
    beside = pairs(own, golden)
    difference = _difference(beside, terms, rng)
    changes = {name: change for name, one in (before or {}).items()
               if (change := _change(own, golden, one, terms, rng)) is not None}  # fmt: skip
    names = {name: one.run for name, one in (before or {}).items() if name in changes}
    rate, missing = pass_rate(own), sum((untold or {}).values())
    log_e = evidence(beside, tolerance=terms.tolerance) if beside else None
    known = pass_rate(golden) if beside else None
    status, cause, reason = _verdict(
        rate.answers.n, missing, difference, log_e=log_e, changes=changes, names=names, terms=terms
    )
    whose, other = ("golden", known) if known else ("the earlier run", _best(own, (before or {}).values()))
    if status == "pass" and other is not None and other.value is not None and other.value <= terms.margin:
        status, cause = "inconclusive", "too_hard"
        reason = (f"{whose} itself is right in {percent(other.value, 0)} of {plural(other.n_cases, 'case')}, so no "
                  f"loss above {terms.margin:.0%} can show; take easier cases")  # fmt: skip
    return Outcome(
        status=status, cause=cause, reason=reason, rate=rate, golden=known,
        difference=difference, log_e=log_e, compounding=compounded(deviations(beside)), tries=tries(own, rng=rng),
        untold=dict(untold or {}), before=changes, before_runs=names,
        weighted=len({one.weight for one in own if one.n}) > 1,
    )  # fmt: skip


def _best(own: Sequence[Tally], before: Iterable[Before]) -> PassRate | None:
    """How often that earlier run was right, in the cases that are asked again, that was most often right."""
    again = (pairs(own, one.own) for one in before)
    rates = [
        pass_rate([Tally(case=one.case, k=one.other_k, n=one.other_n, weight=one.weight) for one in same])
        for same in again if same
    ]  # fmt: skip
    return max(rates, key=lambda one: one.value or 0, default=None)


def settled(own: Sequence[Tally], golden: Sequence[Tally], terms: Terms) -> bool:
    """Whether a run that may be looked at after every case has seen enough, either way."""
    beside = pairs(own, golden)
    if len(beside) < MIN_CASES:
        return False
    lost = evidence(beside, tolerance=terms.tolerance) >= -np.log(terms.alpha)
    return bool(lost) or sequence(beside)[0] >= -terms.margin


def _difference(beside: Sequence[Pair], terms: Terms, rng: np.random.Generator) -> Difference | None:
    if not beside:
        return None
    found = paired(beside, rng=rng, rule=terms.rule)
    if not terms.looks:
        return replace(found, resampled=bootstrapped(beside, rng=rng))
    low, high = sequence(beside)
    return Difference(
        value=found.value, low=min(low, found.value), high=max(high, found.value), p_worse=None, mde=None,
        n=found.n, better=found.better, worse=found.worse,
    )  # fmt: skip


def _change(
    own: Sequence[Tally], golden: Sequence[Tally], before: Before, terms: Terms, rng: np.random.Generator
) -> Difference | None:
    """The change since an earlier run: of the difference from golden where hardly a case is the same, else by case."""
    same, now, then = pairs(own, before.own), pairs(own, golden), pairs(before.own, before.golden)
    if len(same) < MIN_CASES <= min(len(now), len(then)):
        return unpaired(now, then, rule=terms.rule)
    return paired(same, rng=rng, rule=terms.rule) if same else None


def _verdict(
    n: int, missing: int, difference: Difference | None, *, log_e: float | None,
    changes: Mapping[str, Difference], names: Mapping[str, str], terms: Terms,
) -> tuple[Status, str | None, str]:  # fmt: skip
    if n < MIN_GRADED * (n + missing) or not n:
        return "inconclusive", "no_answers", f"{missing} of {n + missing} answers did not come or could not be graded"
    worse = {"golden": difference, **changes} if difference else dict(changes)
    judged = {name: _status(one, log_e if name == "golden" else None, terms) for name, one in worse.items()}
    bad: tuple[Status, Status] = ("fail", "suspect")
    for status in bad:
        name = next((name for name, told in judged.items() if told == status), None)
        if name is not None:
            return status, "worse_than_golden" if name == "golden" else "regression", _words(name, worse[name], names)
    if difference is None:
        return _without(judged, worse, names, terms)
    if judged["golden"] == "pass":
        return "pass", None, _words("golden", difference, names)
    return "inconclusive", "too_few", f"{_words('golden', difference, names)}: {_open(difference, terms)}"


def _open(one: Difference, terms: Terms) -> str:
    """Why neither side is certain, in words that do not contradict the interval beside them."""
    if one.n < MIN_CASES and one.high >= 0:
        enough = f"{_alike(terms.margin)} cases of which none is lost"
        return f"too few to decide; {enough} would rule {terms.margin:.0%} out"
    if one.high < 0:
        return f"the interval, of 95%, is all loss, but a loss must be certain at {terms.alpha:g} to fail"
    if one.low >= -terms.margin and one.most_lost is not None:
        lost = f"of {plural(one.n, 'case')} {percent(one.most_lost, 0)} may be lost (exact bound)"
        return f"{lost}: ask more to rule {terms.margin:.0%} out"
    return f"neither a loss nor that there is none above {terms.margin:.0%} is certain"


def _alike(margin: float) -> int:
    """How many cases, of which none is lost, rule a loss of `margin` out: by the bound of `Difference.most_lost`."""
    return math.ceil(math.log(0.025) / math.log(1 - margin))


def _without(
    judged: Mapping[str, Status], worse: Mapping[str, Difference], names: Mapping[str, str], terms: Terms
) -> tuple[Status, str | None, str]:
    """The verdict of a run that golden has no answers to: what earlier runs say."""
    name = next((name for name, told in judged.items() if told == "pass"), None)
    if name is not None:
        return "pass", None, f"no golden reference; {_words(name, worse[name], names)}"
    if worse:
        first, one = next(iter(worse.items()))
        return "inconclusive", "too_few", f"no golden reference; {_words(first, one, names)}: {_open(one, terms)}"
    return "inconclusive", "no_reference", "no golden answers and no earlier run with the same cases to compare with"


def _status(one: Difference, log_e: float | None, terms: Terms) -> Status:
    certain = (
        log_e is not None and log_e >= -np.log(terms.alpha) if one.p_worse is None else one.p_worse <= terms.alpha
    )
    if certain:
        # An e-value is against "no more than the tolerance" already; a p-value is against "no difference".
        return "fail" if one.p_worse is None or one.high < -terms.tolerance else "suspect"
    ruled_out = one.low >= -terms.margin and (one.most_lost is None or one.most_lost <= terms.margin)
    return "pass" if ruled_out else "inconclusive"


def _words(name: str, one: Difference, names: Mapping[str, str]) -> str:
    return (
        f"{one.value * 100:+.1f} points [{one.low * 100:+.1f}, {one.high * 100:+.1f}] right answers against "
        f"{_whose(name, names)} over {plural(one.n, 'case')}; {seen_words(one)}"
    )


def _whose(name: str, names: Mapping[str, str]) -> str:
    """Whose answers are compared with, and of which run."""
    run = names.get(name, "")[:_SHORT]
    if name == "last":
        return f"those of run {run}, the last that did not fail,"
    return f"the baseline's, run {run}," if name == "baseline" else "golden's"


def seen_words(one: Difference) -> str:
    """Return the smallest loss that would have been found, in words; rounded up, so that no more is promised."""
    if one.mde is None:
        told = one.p_worse is not None
        return "no loss would have been certain" if told else "no smallest loss: the run may stop at any case"
    return f"a loss of {math.ceil(round(one.mde * 1000, 3)) / 10:.1f} points would have been seen (power 0.8)"


def needs(n: int, terms: Terms) -> str:
    """Return in words what a pass and a fail of `n` cases take that both sides answer, one answer each."""
    cases, lost = _least_looking(n, terms) if terms.looks else (_alike(terms.margin), least_lost(n, terms.rule))
    fail = "no loss can be certain enough to fail" if lost is None else f"a fail needs at least {lost} lost"
    few = "" if cases is not None and n >= cases else ", so none can pass"
    return f"{plural(n, 'case')}: a pass needs {f'at least {cases}' if cases else 'more'}{few}; {fail}"


def _least_looking(n: int, terms: Terms) -> tuple[int | None, int | None]:
    """How many of `n` cases, all alike, end a run with a pass, and how many, all lost, with a fail."""
    if not n:
        return None, None
    low = mean_sequence(np.zeros(n), low=-1, high=1).low
    gained = score_process(np.full(n, 1 - terms.tolerance), 1 + terms.tolerance).log_e
    alike, lost = (np.flatnonzero(one) + 1 for one in (low >= -terms.margin, gained >= -np.log(terms.alpha)))
    return (int(alike[0]) if alike.size else None), (int(lost[0]) if lost.size else None)
