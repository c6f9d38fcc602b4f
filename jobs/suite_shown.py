"""A finished run as reports show it, and its numbers in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from monitor.stats.rates import Rate
from monitor.suites.groups import Group
from monitor.suites.outcome import Outcome
from monitor.suites.paired import Difference


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
    counted = ", cases counted by their weight" if found.weighted else ""
    yield "right answers", rate_words(found.rate) + counted
    yield "golden", "–" if found.golden is None else rate_words(found.golden) + counted
    yield "against golden", "–" if found.difference is None else difference_words(found.difference)
    for name, change in found.before.items():
        yield f"against {name}", difference_words(change)
    if found.tries is not None:
        once, always = found.tries.at_least_once[0], found.tries.every_time[0]
        yield f"in {found.tries.k} tries", f"{once:.1%} at least once, {always:.1%} every time"
    steps = found.compounding
    if found.difference is not None and steps.wrong is not None and steps.low is not None and steps.high is not None:
        kind = "steps wrong that golden does rightly"
        yield (
            f"runs of {steps.steps} steps",
            f"{steps.wrong:.0%} wrong [{steps.low:.0%}, {steps.high:.0%}], at {rate_words(steps.per_step)} {kind}",
        )
    if found.untold:
        yield "not graded", ", ".join(f"{count} {why}" for why, count in sorted(found.untold.items()))


def group_words(one: Group) -> tuple[str, str, str, str, str]:
    """Return a row of the table by tag: name, cases, right answers, golden's, and the difference."""
    golden = "–" if one.golden is None else rate_words(one.golden)
    far = one.difference
    points = "–" if far is None else f"{far.value * 100:+.1f} points [{far.low * 100:+.1f}, {far.high * 100:+.1f}]"
    return one.name, str(one.n_cases), rate_words(one.rate), golden, points


def rate_words(rate: Rate) -> str:
    """Return a rate with k, n and interval; a dash where nothing was measured."""
    if rate.value is None or rate.low is None or rate.high is None:
        return "–"
    return f"{rate.value:.1%} [{rate.low:.1%}, {rate.high:.1%}], {rate.k} of {rate.n}"


def difference_words(one: Difference) -> str:
    """Return a difference in points of a hundred, with its interval and what decides."""
    tested = "" if one.p_worse is None else f", p {one.p_worse:.2g}"
    drawn = "" if one.resampled is None else "; cases resampled [{:+.1f}, {:+.1f}]".format(
        *(100 * end for end in one.resampled)
    )  # fmt: skip
    return (
        f"{one.value * 100:+.1f} points [{one.low * 100:+.1f}, {one.high * 100:+.1f}] over {one.n} cases"
        f" ({one.worse} worse, {one.better} better{tested}); smallest loss seen {one.mde * 100:.0f}{drawn}"
    )
