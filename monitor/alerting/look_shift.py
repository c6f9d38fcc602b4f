"""Rules that compare: with the endpoint's own past, and with others that serve the same model."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from statistics import median

from monitor.alerting.conditions import Rule, Shift
from monitor.alerting.facts import Facts, Sample
from monitor.alerting.figures import Figure, quantile, scaled, written
from monitor.alerting.look_requests import CAUSE_OF, key_of, places, recent, timings
from monitor.alerting.nouns import Signal
from monitor.types import Endpoint

FROZEN_SHARE = 0.5
"""An open incident ends the past at its beginning, for this share of the history. What lasts longer is the new state,
or an endpoint that was made slower for good would be an incident for ever."""


def look_shifts(rule: Rule, condition: Shift, facts: Facts) -> Iterator[Signal]:
    """One signal per endpoint with enough requests now and enough to compare with."""
    windows = {
        name: recent([one for one in facts.counting(name) if one.probe == condition.probe], condition.over)
        for name in facts.endpoints
    }
    figures = {
        name: quantile(values, 0.5)
        for name, window in windows.items()
        if len(values := timings(window, condition.metric)) >= condition.min_n
    }
    for name in sorted(rule.endpoints & set(figures)):
        if condition.against == "peers":
            other = _peers(name, condition, facts, figures)
        else:
            other = _history(name, condition, facts, windows[name][-1].at)
        if other:
            yield _signal(rule, condition, facts.endpoints[name], _Seen(windows[name], figures[name], *other))


def _history(name: str, condition: Shift, facts: Facts, newest: datetime) -> tuple[float, str] | None:
    """Median over the hours before the window, and over how many."""
    past = facts.past.get((name, condition.metric), ())
    ends = newest - timedelta(seconds=condition.over)
    since = facts.slow_since.get(name)
    if since is not None and newest - since < timedelta(seconds=condition.history * FROZEN_SHARE):
        ends = min(ends, since)
    starts = newest - timedelta(seconds=condition.history)
    first = bisect_left(past, starts, key=attrgetter("at"))
    last = bisect_right(past, ends - timedelta(hours=1), key=attrgetter("at"))
    hours = [hour.value for hour in past[first:last]]
    return (median(hours), f"{len(hours)} hours of its own past") if len(hours) >= condition.min_hours else None


def _peers(
    name: str, condition: Shift, facts: Facts, figures: Mapping[str, Figure]
) -> tuple[float, str] | None:
    """Median over other endpoints of the same model, and over how many."""
    own = model_of(facts.endpoints[name])
    others = [
        figure.value for other, figure in figures.items() if other != name and model_of(facts.endpoints[other]) == own
    ]
    return (median(others), f"{len(others)} others of {own}") if len(others) >= condition.min_peers else None


def model_of(endpoint: Endpoint) -> str:
    """What makes endpoints peers: the golden model that they claim to serve, else the name that requests say."""
    return endpoint.reference or endpoint.model


@dataclass(frozen=True, slots=True)
class _Seen:
    """The window, its median, what it is compared with, and what that is."""

    window: Sequence[Sample]
    figure: Figure
    usual: float
    among: str


def _signal(rule: Rule, condition: Shift, endpoint: Endpoint, seen: _Seen) -> Signal:
    window, figure, ratio = seen.window, seen.figure, scaled(seen.figure, seen.usual)
    faster_is_more = condition.metric == "tps"
    limit = 1 / condition.factor if faster_is_more else condition.factor
    unit = "tokens/s" if faster_is_more else "ms"
    return Signal(
        rule=rule.name, subject=endpoint.name, provider=endpoint.provider, at=window[-1].at,
        key=key_of(window[-1].at, condition.over),
        bad=ratio.beyond(below=limit) if faster_is_more else ratio.beyond(above=limit),
        topic="speed", cause=CAUSE_OF[condition.metric], detector=condition.kind,
        reason=f"median {condition.metric} over {condition.over / 60:g} min: {written(figure, unit)}; "
        f"{ratio.value:.2f} times the {seen.usual:.3g} {unit} of {seen.among}; limit {limit:.2f}",
        value=ratio.value, low=ratio.low, high=ratio.high, unit="ratio", n=figure.n, threshold=limit,
        vantages=places(window), maintenance=window[-1].maintenance,
    )  # fmt: skip
