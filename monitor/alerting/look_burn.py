"""Rules on error budgets: how fast is what an objective allows used up?

Burn rate over a window = share of failed requests / (1 - objective): at 1 the budget lasts exactly its period. It is
too fast when a long *and* a short window burn faster than the factor of their pair: the long one says that it matters,
the short one that it still goes on. Pairs and factors: B. Beyer et al. (ed.), The Site Reliability Workbook (2018),
chapter 5, table 5-8: 1 h and 5 min at 14.4 (2% of 30 days' budget in an hour), 6 h and 30 min at 6 (5% in six hours),
3 d and 6 h at 1 (10% in three days).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.alerting.conditions import BurnRate, Rule
from monitor.alerting.facts import Facts, Tally
from monitor.alerting.nouns import Signal

PAIRS = ((timedelta(hours=1), timedelta(minutes=5)), (timedelta(hours=6), timedelta(minutes=30)),
         (timedelta(days=3), timedelta(hours=6)))  # fmt: skip
REACHED = 0.9
"""Share of a long window that the oldest request must reach back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    """The burn rate over a window; None where nothing was asked."""

    rate: float | None
    good: int
    n: int


def burn(tallies: Iterable[Tally], window: timedelta, ends: datetime, objective: float) -> Burn:
    """Burn rate over the `window` before `ends`, of tallies that lie in it."""
    inside = [one for one in tallies if ends - window <= one.at and one.at + timedelta(seconds=one.width_s) <= ends]
    n, good = sum(one.n for one in inside), sum(one.good for one in inside)
    return Burn(rate=(n - good) / n / (1 - objective) if n else None, good=good, n=n)


def look_burn(rule: Rule, condition: BurnRate, facts: Facts) -> Iterator[Signal]:
    """One signal per endpoint with enough requests in at least one long window."""
    own: dict[str, list[Tally]] = {}
    for tally in facts.tallies:
        if not _is_told(tally, facts):
            own.setdefault(tally.endpoint, []).append(tally)
    for name in sorted(rule.endpoints & set(own) & set(facts.endpoints)):
        signal = _signal(rule, condition, facts, name, own[name])
        if signal is not None:
            yield signal


def _is_told(tally: Tally, facts: Facts) -> bool:
    """Whether an outage of the provider, which had an incident of its own, overlaps it."""
    endpoint, ends = facts.endpoints.get(tally.endpoint), tally.at + timedelta(seconds=tally.width_s)
    return endpoint is not None and any(
        one.provider == endpoint.provider and one.since < ends and tally.at <= one.until for one in facts.outages
    )


def _signal(rule: Rule, condition: BurnRate, facts: Facts, name: str, tallies: Sequence[Tally]) -> Signal | None:
    ends = max(one.at + timedelta(seconds=one.width_s) for one in tallies)
    first = min(one.at for one in tallies)
    found = []
    for (long, short), factor in zip(PAIRS, condition.factors, strict=True):
        if first > ends - long * REACHED:  # three days cannot be told from one hour
            continue
        slow, fast = (burn(tallies, window, ends, condition.objective) for window in (long, short))
        if slow.n >= condition.min_n and slow.rate is not None and fast.rate is not None:
            found.append((slow.rate >= factor and fast.rate >= factor, slow, fast, factor, long))
    if not found:
        return None
    bad, slow, fast, factor, long = max(found, key=lambda one: (one[0], (one[1].rate or 0.0) / one[3]))
    reason = f"error budget of {condition.objective:g} burns {slow.rate:.1f} times too fast over {_hours(long)} "
    return Signal(
        rule=rule.name, subject=name, provider=facts.endpoints[name].provider, at=ends,
        key=f"burn:{int(ends.timestamp())}", bad=bad, topic="availability", cause="unavailable",
        detector=condition.kind, value=slow.rate, unit="burn rate", n=slow.n, threshold=factor,
        reason=f"{reason}({slow.n - slow.good} of {slow.n} failed) and {fast.rate:.1f} lately; limit {factor:g}",
    )  # fmt: skip


def _hours(window: timedelta) -> str:
    return f"{window.total_seconds() / 3600:g} h"
