"""Two sets of answers in numbers: is one of another shape than the other, prompt by prompt where they share prompts?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.shape import ShapeEvent
from monitor.stats.rates import wilson
from monitor.stats.strata import Table, more_often
from monitor.stats.survival import kaplan_meier, log_rank

Strata = Sequence[tuple[Sequence[ShapeEvent], Sequence[ShapeEvent]]]
LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How one sign differs. ``effect`` is now minus before, in shares, with its 95% interval.

    For `LENGTH` the shares are those of answers longer than ``at_tokens``, where the two curves are furthest apart.
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


def _rate(
    sign: str, read: Callable[[ShapeEvent], bool | None], strata: Strata, *, both: bool
) -> Shift | None:
    tables = [_table(own, other, read) for own, other in strata]
    n, n_before = sum(one.n for one in tables), sum(one.n_before for one in tables)
    if not n or not n_before:
        return None
    k, k_before = sum(one.k for one in tables), sum(one.k_before for one in tables)
    p_value = more_often(tables)
    if both:
        p_value = min(1.0, 2 * min(p_value, more_often([_turned(one) for one in tables])))
    effect, low, high = _difference(k, n, k_before, n_before)
    return Shift(sign=sign, p_value=p_value, effect=effect, low=low, high=high, n=n, n_before=n_before)


def _table(
    own: Sequence[ShapeEvent], other: Sequence[ShapeEvent], read: Callable[[ShapeEvent], bool | None]
) -> Table:
    now = [value for event in own if (value := read(event)) is not None]
    before = [value for event in other if (value := read(event)) is not None]
    return Table(k=sum(now), n=len(now), k_before=sum(before), n_before=len(before))


def _turned(table: Table) -> Table:
    return Table(
        k=table.n - table.k, n=table.n, k_before=table.n_before - table.k_before, n_before=table.n_before
    )


def _difference(k: int, n: int, k_before: int, n_before: int) -> tuple[float, float, float]:
    """Difference of two rates and its interval (R. G. Newcombe, Statist. Med. 17 (1998), 873-890, method 10)."""
    own, other = wilson(k, n), wilson(k_before, n_before)
    p, l, u = (value or 0.0 for value in (own.value, own.low, own.high))  # noqa: E741  # the paper's letters
    q, v, w = (value or 0.0 for value in (other.value, other.low, other.high))
    below, above = np.hypot(p - l, w - q), np.hypot(u - p, q - v)
    return p - q, max(-1.0, float(p - q - below)), min(1.0, float(p - q + above))


def _length(strata: Strata) -> Shift | None:
    measured = [tuple([one for one in side if one.tokens is not None] for side in pair) for pair in strata]
    pairs = [(own, other) for own, other in measured if own and other]
    if not pairs:
        return None
    first, second = [_lengths(own) for own, _ in pairs], [_lengths(other) for _, other in pairs]
    own, other = _pooled(first), _pooled(second)
    mine, theirs = kaplan_meier(*own), kaplan_meier(*other)
    times = [0.0, *np.unique(np.concatenate([mine.times, theirs.times])).tolist()]
    gaps = [mine.at(time)[0] - theirs.at(time)[0] for time in times]
    at = int(np.argmax(np.abs(gaps)))
    half = 1.96 * float(np.hypot(mine.at(times[at])[1], theirs.at(times[at])[1]))
    return Shift(
        sign=LENGTH, p_value=log_rank(first, second).p_value, effect=gaps[at], low=gaps[at] - half,
        high=gaps[at] + half, n=len(own[0]), n_before=len(other[0]), at_tokens=times[at],
    )  # fmt: skip


def _lengths(events: Sequence[ShapeEvent]) -> tuple[list[float], list[bool]]:
    return [float(one.tokens or 0) for one in events], [one.cut for one in events]


def _pooled(samples: Sequence[tuple[list[float], list[bool]]]) -> tuple[list[float], list[bool]]:
    return [one for lengths, _ in samples for one in lengths], [one for _, cut in samples for one in cut]


_SIGNS: Mapping[str, tuple[Callable[[ShapeEvent], bool | None], bool]] = {
    "looped": (lambda event: event.looped, False),
    "mixed": (lambda event: event.mixed, False),
    "empty": (lambda event: event.empty, False),
    "only_reasoning": (lambda event: event.only_reasoning, False),
    "cut": (lambda event: event.cut, False),
    "retried": (lambda event: event.retried, False),
    "called": (lambda event: event.called, True),
}
"""How each is read, and whether fewer of them are news too."""
