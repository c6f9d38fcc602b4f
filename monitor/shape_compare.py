"""Two sets of answers in numbers: is one of another shape than the other, prompt by prompt where they share prompts?

Effects are those of a prompt mix that both sides share: a prompt counts by how much it can tell (Mantel-Haenszel's
weights n m / (n + m)), so that a side which answered the hard prompts more often is not another one for that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.ports import Floats
from monitor.shape import ShapeEvent
from monitor.stats.rates import difference
from monitor.stats.strata import Table, more_often
from monitor.stats.survival import Curve, kaplan_meier, log_rank

Read = Callable[[ShapeEvent], bool | None]
Strata = Sequence[tuple[Sequence[ShapeEvent], Sequence[ShapeEvent]]]
LENGTH = "length"

_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How one sign differs. ``effect`` is now minus before, in shares, with its 95% interval.

    For `LENGTH` the shares are those of answers longer than ``at_tokens``: that quartile of the lengths before at which
    they differ most. The interval allows for the choice.
    """

    sign: str
    p_value: float
    effect: float
    low: float
    high: float
    n: int
    n_before: int
    at_tokens: float | None = None


def compare_shapes(now: Sequence[ShapeEvent], before: Sequence[ShapeEvent]) -> list[Shift]:
    """Return the shift of every sign that both sides know; the least likely by chance first."""
    strata = by_prompt(now, before)
    found = [_rate(sign, read, strata, both=both) for sign, (read, both) in _SIGNS.items()]
    found.append(_length(strata))
    return sorted((one for one in found if one is not None), key=lambda one: one.p_value)


def by_prompt(now: Sequence[ShapeEvent], before: Sequence[ShapeEvent]) -> Strata:
    """Return the answers by prompt, if both sides answered the prompts of most of `now`; else all in one stratum."""
    groups: dict[str, tuple[list[ShapeEvent], list[ShapeEvent]]] = {}
    for side, events in enumerate((now, before)):
        for event in events:
            if event.prompt is not None:
                groups.setdefault(event.prompt, ([], []))[side].append(event)
    shared = [pair for pair in groups.values() if pair[0] and pair[1]]
    if 2 * sum(len(pair[0]) for pair in shared) >= len(now) > 0:
        return shared
    return [(now, before)]


def _rate(sign: str, read: Read, strata: Strata, *, both: bool) -> Shift | None:
    tables = [one for own, other in strata if (one := _table(own, other, read)).n and one.n_before]
    if not tables:
        return None
    p_value = more_often(tables)
    if both:
        p_value = min(1.0, 2 * min(p_value, more_often([_turned(one) for one in tables])))
    k, n, k_before, n_before = (
        np.array(column, dtype=np.float64)
        for column in zip(*((one.k, one.n, one.k_before, one.n_before) for one in tables), strict=True)
    )
    weights = _weights(n, n_before)
    effect, low, high = difference(_mixed(k, n, weights), _mixed(k_before, n_before, weights))
    return Shift(
        sign=sign, p_value=p_value, effect=effect, low=low, high=high, n=int(n.sum()), n_before=int(n_before.sum())
    )  # fmt: skip


def _weights(n: Floats, n_before: Floats) -> Floats:
    """What each stratum counts (N. Mantel, W. Haenszel, J. Natl. Cancer Inst. 22 (1959), 719-748)."""
    return n * n_before / (n + n_before)


def _mixed(k: Floats, n: Floats, weights: Floats) -> tuple[float, float]:
    """A rate over strata, and the number of answers that it is worth (Kish)."""
    total = weights.sum()
    return float((weights * k / n).sum() / total), float(total**2 / (weights**2 / n).sum())


def _table(own: Sequence[ShapeEvent], other: Sequence[ShapeEvent], read: Read) -> Table:
    now = [value for event in own if (value := read(event)) is not None]
    before = [value for event in other if (value := read(event)) is not None]
    return Table(k=sum(now), n=len(now), k_before=sum(before), n_before=len(before))


def _turned(table: Table) -> Table:
    return Table(k=table.n - table.k, n=table.n, k_before=table.n_before - table.k_before, n_before=table.n_before)


def _length(strata: Strata) -> Shift | None:
    measured = [tuple(_lengths(side) for side in pair) for pair in strata]
    pairs = [(own, other) for own, other in measured if own[0] and other[0]]
    tested = log_rank([own for own, _ in pairs], [other for _, other in pairs])
    if tested.p_value is None:
        return None
    sizes = [np.array([len(side[0]) for side in sides], dtype=np.float64) for sides in zip(*pairs, strict=True)]
    weights = _weights(*sizes)
    mine, theirs = (_curve(side, weights / n) for side, n in zip(zip(*pairs, strict=True), sizes, strict=True))
    times = _looked_at([own for own, _ in pairs], [other for _, other in pairs])
    confidence = 1 - 0.05 / len(times)
    effects = [difference(mine.at(time), theirs.at(time), confidence=confidence) for time in times]
    at = max(range(len(times)), key=lambda at: abs(effects[at][0]))
    effect, low, high = effects[at]
    return Shift(
        sign=LENGTH, p_value=tested.p_value, effect=effect, low=low, high=high, n=int(sizes[0].sum()),
        n_before=int(sizes[1].sum()), at_tokens=times[at],
    )  # fmt: skip


Lengths = tuple[list[float], list[bool]]


def _lengths(events: Sequence[ShapeEvent]) -> Lengths:
    """Lengths, and which of them were cut; without those of which one is not known."""
    known = [(one.tokens, one.cut) for one in events if one.tokens is not None and one.cut is not None]
    return [tokens for tokens, _ in known], [cut for _, cut in known]


def _curve(side: Sequence[Lengths], weight_of_each: Floats) -> Curve:
    weights = [weight for (lengths, _), weight in zip(side, weight_of_each, strict=True) for _ in lengths]
    return kaplan_meier(*_pooled(side), weights)


def _pooled(samples: Sequence[Lengths]) -> Lengths:
    return [one for lengths, _ in samples for one in lengths], [one for _, cut in samples for one in cut]


def _looked_at(now: Sequence[Lengths], before: Sequence[Lengths]) -> list[float]:
    """Quartiles of the lengths before, as far as those of now were let grow: chance in `now` does not choose them."""
    lengths, cut = _pooled(now)
    longest = max(lengths)
    reach = longest if all(was for length, was in zip(lengths, cut, strict=True) if length == longest) else np.inf
    quartiles = np.quantile(_pooled(before)[0], _QUARTILES, method="inverted_cdf")
    return sorted({float(min(one, reach)) for one in quartiles})


_SIGNS: Mapping[str, tuple[Read, bool]] = {
    "looped": (lambda event: event.looped, False),
    "mixed": (lambda event: event.mixed, False),
    "empty": (lambda event: event.empty, False),
    "only_reasoning": (lambda event: event.only_reasoning, False),
    "cut": (lambda event: event.cut, False),
    "retried": (lambda event: event.retried, False),
    "called": (lambda event: event.called, True),
}
"""How each is read, and whether fewer of them are news too."""

SIGNS: tuple[str, ...] = (*_SIGNS, LENGTH)
