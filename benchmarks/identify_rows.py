"""Rows of the tables on identification: how often draws from a record name what was served."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.identify_served import SURE, Served, families, family_of, is_named, is_wrong, mixed, share_of
from jobs.identify_order import HARDEST
from monitor.stats.design import design
from monitor.stats.hypotheses import FAITHFUL, UNEXPLAINED
from monitor.stats.matched import Match
from reference.variants.bank import find

DRAWS = 200
ROUND, MOST = 8, 40
"""Requests after each of which `weighmaster identify` looks, and the most that it makes."""

COLUMNS = ("endpoint", "family right", "scheme right", "claimed", "wrong family at 0.99", "named")
ROUTED_COLUMNS = ("endpoints", "share", "both named", "share within 10 points", "true share in the interval",
                  "mean share")  # fmt: skip
Draw = Callable[[Served, np.random.Generator], Served]
_LIKELY = 0.5


def design_of(one: Served) -> list[str]:
    """The prompts in the order in which `weighmaster identify` asks them, best first."""
    rows = {
        name: [row - gold for row, gold in zip(one.predicted[name], one.golden, strict=True)] for name in HARDEST
    }
    return [one.prompts[at] for at in design(rows, families())]


def matches(one: Served, draw: Draw, seed: int = 0, draws: int = DRAWS) -> list[Match]:
    """Identify `draws` draws."""
    rng = np.random.default_rng(seed)
    return [draw(one, rng).match() for _ in range(draws)]


def some(n: int, k: int, one: Served, rng: np.random.Generator) -> Served:
    """Any `n` of the prompts, with `k` logprobs."""
    return one.drawn(rng, n, k)


def named_row(one: Served, draw: Draw, scheme: str) -> list[object]:
    """How often `scheme` is named (`COLUMNS`)."""
    found = matches(one, draw)
    family = FAITHFUL if scheme == FAITHFUL else family_of(scheme)
    named = Counter(each.schemes[0].name for each in found)
    return [
        one.name, share_of(next(iter(each.families)) == family for each in found),
        share_of(is_named(each, scheme) for each in found),
        float(np.mean([each.families.get(family, 0.0) for each in found])),
        share_of(is_wrong(each, family) for each in found),
        ", ".join(f"{count} {name}" for name, count in named.most_common(3)),
    ]  # fmt: skip


def left_out_row(one: Served, scheme: str) -> list[object]:
    """What is said when the family of `scheme`, and those of its twins, are not in the bank."""
    family = family_of(scheme)
    whole = one.match()
    twins = {name for each in whole.schemes if each.family == family for name in (each.name, *each.twins)}
    gone = {family, *(find(name).family for name in twins)}
    return unknown_row(one.without([name for name in one.predicted if find(name).family in gone]), family)


def unknown_row(one: Served, family: str) -> list[object]:
    """How often something that the bank does not know is unexplained."""
    found = [one.drawn(np.random.default_rng(seed), 20).match() for seed in range(DRAWS)]
    return [one.name, *nothing_named(found, family)]


def nothing_named(found: Sequence[Match], family: str) -> list[object]:
    """How often nothing was named, how often another family for sure, and what is nearest."""
    near = Counter(each.nearest.name for each in found if each.nearest)
    return [
        share_of(next(iter(each.families)) == UNEXPLAINED for each in found),
        share_of(is_wrong(each, family) for each in found),
        ", ".join(f"{count} {name}" for name, count in near.most_common(2)),
    ]  # fmt: skip


def routed_row(share: float, bad: Served, good: Served, schemes: Mapping[str, str]) -> list[object]:
    """`bad` answers a share of 100 requests; `good` the rest, golden's family or a second scheme (`schemes`)."""
    one, other = schemes[bad.name], schemes[good.name]
    named, close, covered, shares = [], [], [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(min(len(good.prompts), len(bad.prompts)))[:100]
        found = mixed(good.at(rows), bad.at(rows), rng.random(len(rows)) < share).match()
        first = found.schemes[0]
        named.append(_are_both_named(found, one, other))
        if named[-1] and found.share is not None and found.share_low is not None and found.share_high is not None:
            true = share if not first.pair or first.pair[0] == one else 1 - share
            shares.append(found.share if true == share else 1 - found.share)
            close.append(abs(found.share - true) <= 0.1)
            covered.append(found.share_low <= true <= found.share_high)
    return [f"{bad.name}, {good.name}", f"{share:.0%}", share_of(named), f"{sum(close)} of {DRAWS}",
            f"{sum(covered)} of {DRAWS}", float(np.mean(shares)) if shares else None]  # fmt: skip


def _are_both_named(found: Match, one: str, other: str) -> bool:
    """Whether both are: the rest as golden's family, with no more noise than faithful engines show, or as a pair."""
    first = found.schemes[0]
    if other == FAITHFUL:
        return first.name == one and found.rest is not None and found.rest >= _LIKELY
    return set(first.pair or ()) == {one, other}


def declared(one: Served) -> list[object]:
    """How often a variant coarser than 16 bit is found for sure, and after how many requests."""
    needed = []
    for seed in range(DRAWS):
        drawn = one.drawn(np.random.default_rng(seed), MOST)
        for n in range(ROUND, MOST + 1, ROUND):
            found = drawn.at(range(n)).match()
            if 1 - found.families.get(FAITHFUL, 0.0) - found.families.get(UNEXPLAINED, 0.0) >= SURE:
                needed.append(n)
                break
    return [f"{len(needed)} of {DRAWS}", int(np.median(needed)) if needed else None]
