"""Right answers by tag and by family: where a loss is. A description; the verdict is that of the whole suite."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.suites.detectable import Rule
from monitor.suites.paired import Difference, paired
from monitor.suites.rate import PassRate, pass_rate
from monitor.suites.tally import Tally, pairs

_RULE = Rule(alpha=0.01, tolerance=0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some cases of a suite: how many have a graded answer, and how they do. None without answers of golden's."""

    name: str
    n_cases: int
    rate: PassRate
    golden: PassRate | None
    difference: Difference | None


def grouped(
    own: Sequence[Tally], golden: Sequence[Tally], members: Mapping[str, Iterable[str]], *, rng: np.random.Generator
) -> tuple[Group, ...]:
    """Return the groups, by the names of cases in each; those without a graded answer are left out.

    The intervals are those of single groups: of twenty groups of a faithful endpoint one lies beside zero by chance.
    """
    found = (_group(name, set(cases), own, golden, rng) for name, cases in sorted(members.items()))
    return tuple(one for one in found if one.n_cases)


def _group(
    name: str, cases: set[str], own: Sequence[Tally], golden: Sequence[Tally], rng: np.random.Generator
) -> Group:
    mine = [one for one in own if one.case in cases and one.n]
    both = {one.case for one in mine}
    theirs = [one for one in golden if one.case in both and one.n]
    beside = pairs(mine, theirs)
    return Group(
        name=name, n_cases=len(mine), rate=pass_rate(mine), golden=pass_rate(theirs) if beside else None,
        difference=paired(beside, rng=rng, rule=_RULE) if beside else None,
    )  # fmt: skip
