"""A finished run as reports show it, and its numbers in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from monitor.percent import percent
from monitor.plurals import plural
from monitor.stats.rates import Rate
from monitor.suites.groups import Group
from monitor.suites.outcome import Outcome, seen_words
from monitor.suites.paired import Difference
from monitor.suites.rate import PassRate, Tries


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One case: right and graded answers, golden's, and why the wrong ones are wrong. ``texts`` only when revealed."""

    name: str
    k: int
    n: int
    golden_k: int | None = None
    golden_n: int | None = None
    why: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """Whether golden answers rightly more often."""
        if not self.n or not self.golden_n:
            return False
        return self.k / self.n < (self.golden_k or 0) / self.golden_n


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A run; ``mark`` is the beginning of the suite's hash, ``reference`` what golden is."""

    suite: str
    mark: str
    endpoint: str
    run: str
    started_at: str
    reference: str | None
    outcome: Outcome
    lines: tuple[Line, ...]
    groups: tuple[Group, ...] = ()


def facts(result: Shown) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a run with their names, as people read them."""
    found = result.outcome
    yield "cases right", share_words(found.rate)
    if found.rate.answers.n > found.rate.n_cases:
        plain = ", unweighted" if found.weighted else ""
        yield f"answers right{plain}", rate_words(found.rate.answers, "answer")
        yield f"cases right every time{plain}", rate_words(found.rate.every_time, "case")
    yield "golden", "–" if found.golden is None else share_words(found.golden)
    yield "against golden", "–" if found.difference is None else difference_words(found.difference)
    for name, change in found.before.items():
        run = found.before_runs.get(name)
        yield f"against {name}", difference_words(change) + (f"; run {run[:8]}" if run else "")
    yield from _tries(found.tries)
    steps = found.compounding
    if found.difference is not None and steps.wrong is not None and steps.low is not None and steps.high is not None:
        share = f"{percent(steps.wrong, 0)} wrong [{percent(steps.low, 0)}, {percent(steps.high, 0)}]"
        single = f"{rate_words(steps.per_step, 'step')} wrong that golden does rightly"
        yield f"runs of {steps.steps} steps", f"{share}, at {single}"
    if found.untold:
        yield "not graded", ", ".join(f"{count} {why}" for why, count in sorted(found.untold.items()))


def _tries(found: Tries | None) -> Iterator[tuple[str, str]]:
    if found is None:
        return
    over = "" if found.n_cases is None else f", {plural(found.n_cases, 'case')} asked several times"
    for sign, (value, low, high), what in (("@", found.at_least_once, "at least one"), ("^", found.every_time, "each")):
        between = "" if low is None or high is None else f" [{percent(low)}, {percent(high)}]"
        yield f"pass{sign}{found.k}", f"{percent(value)}{between}, {what} of {found.k} tries right{over}"


def group_words(one: Group) -> tuple[str, str, str, str, str]:
    """Return a row of the table by tag: name, cases, right answers, golden's, and the difference."""
    golden = "–" if one.golden is None else share_words(one.golden)
    far = one.difference
    points = "–" if far is None else f"{far.value * 100:+.1f} points [{far.low * 100:+.1f}, {far.high * 100:+.1f}]"
    return one.name, str(one.n_cases), share_words(one.rate), golden, points


def share_words(rate: PassRate) -> str:
    """Return the share of right cases with its k, n and interval; a dash where nothing was measured."""
    if rate.value is None or rate.low is None or rate.high is None:
        return "–"
    share, right, of = _ended(rate.value, rate.low, rate.high), _plain(rate.k), _plain(rate.n)
    if rate.n == rate.n_cases:
        return f"{share}, {right} of {plural(rate.n_cases, 'case')}"
    return f"{share}, weight {right} of {of} in {plural(rate.n_cases, 'case')}"


def _ended(value: float, low: float, high: float) -> str:
    return f"{percent(value)} [{percent(low)}, {percent(high)}]"


def _plain(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def rate_words(rate: Rate, noun: str) -> str:
    """Return a rate with k, n and interval, and what is counted; a dash where nothing was measured."""
    if rate.value is None or rate.low is None or rate.high is None:
        return "–"
    return f"{_ended(rate.value, rate.low, rate.high)}, {rate.k} of {plural(rate.n, noun)}"


def difference_words(one: Difference) -> str:
    """Return a difference in points of a hundred, with its interval and what decides."""
    tested = "" if one.p_worse is None else f", one-sided p {one.p_worse:.2g}"
    drawn = "" if one.resampled is None else "; cases resampled [{:+.1f}, {:+.1f}]".format(
        *(100 * end for end in one.resampled)
    )  # fmt: skip
    return (
        f"{one.value * 100:+.1f} points [{one.low * 100:+.1f}, {one.high * 100:+.1f}] over {plural(one.n, 'case')}"
        f" ({one.worse} worse, {one.better} better{tested}); {seen_words(one)}{drawn}"
    )
