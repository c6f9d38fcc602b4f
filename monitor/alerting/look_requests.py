"""Rules that look at requests: one by one, over a window, and over all endpoints of a provider."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from monitor.alerting.conditions import ProviderDown, Result, Rule, Window
from monitor.alerting.facts import Facts, Sample
from monitor.alerting.figures import Figure, quantile, share, written
from monitor.alerting.nouns import PROVIDER, Signal, Topic
from monitor.alerting.outage import asked, began

TOPIC_OF: dict[str, Topic] = {
    "success_rate": "availability", "ttft_ms": "speed", "tpot_ms": "speed", "tps": "speed",
}  # fmt: skip
CAUSE_OF = {
    "success_rate": "unavailable", "ttft_ms": "slower_start", "tpot_ms": "slower_tokens", "tps": "slower_tokens",
}  # fmt: skip
UNIT_OF = {"success_rate": "share", "ttft_ms": "ms", "tpot_ms": "ms", "tps": "tokens/s"}

STEPS_PER_WINDOW = 12
"""A window gives one signal per twelfth of its length: neighbouring windows say nearly the same."""

STILL_N = 5
"""When so many newest requests were all answered, a rate that is bad for its past says nothing now."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def look_results(rule: Rule, condition: Result, facts: Facts) -> Iterator[Signal]:
    """One signal per request, for as many of the newest as can turn the rule and turn it back."""
    enough = rule.fire.m + rule.resolve.m
    for endpoint in sorted(rule.endpoints & set(facts.endpoints)):
        own = [one for one in facts.counting(endpoint) if condition.probe in {None, one.probe}]
        for sample in own[-enough:]:
            yield _of_result(rule, condition, facts, sample)


def _of_result(rule: Rule, condition: Result, facts: Facts, sample: Sample) -> Signal:
    if condition.metric is None:
        bad, value, what = _by_outcome(condition, sample), None, f"request ended as {sample.outcome}"
    else:
        value = sample.timing(condition.metric)
        bad = None if value is None else _is_beyond(value, condition)
        what = f"{condition.metric} {value}"
    return Signal(
        rule=rule.name, subject=sample.endpoint, provider=facts.endpoints[sample.endpoint].provider, at=sample.at,
        key=sample.exchange_id, bad=bad, topic=condition.topic,
        cause=condition.cause or condition.metric or sample.outcome, detector=condition.kind,
        reason=f"{what}; {rule.fire} requests fire", value=value, unit=UNIT_OF.get(condition.metric or "", ""),
        n=1, threshold=condition.above if condition.above is not None else condition.below,
        vantages=(sample.vantage,), maintenance=sample.maintenance,
    )  # fmt: skip


def _by_outcome(condition: Result, sample: Sample) -> bool | None:
    """Bad, or good when a complete answer came; any other fault is no answer to whether this one is over."""
    if sample.outcome in condition.outcomes:
        return True
    return False if sample.answered else None


def _is_beyond(value: float, condition: Result) -> bool:
    above, below = condition.above, condition.below
    return (above is not None and value > above) or (below is not None and value < below)


def recent(samples: Sequence[Sample], over_s: float) -> list[Sample]:
    """The samples within `over_s` of the newest, and on its side of a maintenance window.

    A window ends at the newest request and not now: when nothing new comes, nothing new is said.
    """
    if not samples:
        return []
    newest = samples[-1]
    start = newest.at - timedelta(seconds=over_s)
    return [one for one in samples if one.at > start and (one.maintenance is None) == (newest.maintenance is None)]


def key_of(at: datetime, over_s: float) -> str:
    """The step of a window of this length that `at` falls into."""
    step = timedelta(seconds=max(over_s / STEPS_PER_WINDOW, 1.0))
    return f"{over_s:g}s:{(at - _EPOCH) // step}"


def places(samples: Iterable[Sample]) -> tuple[str, ...]:
    """The vantage points of samples."""
    return tuple(sorted({sample.vantage for sample in samples}))


def look_windows(rule: Rule, condition: Window, facts: Facts) -> Iterator[Signal]:
    """One signal per endpoint with enough requests in its newest window."""
    is_rate = condition.metric == "success_rate"
    probe = condition.probe or (None if is_rate else "speed")
    for endpoint in sorted(rule.endpoints & set(facts.endpoints)):
        own = [one for one in facts.counting(endpoint) if probe in {None, one.probe}]
        window = recent([one for one in own if one.is_own] if is_rate else own, condition.over)
        figure = _rate(window) if is_rate else _timing(window, condition)
        if figure is not None and figure.n >= condition.min_n:
            yield _of_window(rule, condition, facts, window, figure)


def _rate(window: Sequence[Sample]) -> Figure | None:
    return share(sum(one.answered for one in window), len(window)) if window else None


def _is_over(window: Sequence[Sample]) -> bool:
    """Whether what failed in the window seems to be over: it opens no incident then, and ends none either.

    A fault that was repaired stays in the window for its whole length, and is news to a rule that had too few requests
    while it lasted. One that comes and goes is bad at those looks that find a failure among the newest requests.
    """
    return all(one.answered for one in window[-STILL_N:])


def _timing(window: Sequence[Sample], condition: Window) -> Figure | None:
    values = timings(window, condition.metric)
    return quantile(values, condition.quantile) if values else None


def timings(window: Iterable[Sample], metric: str) -> list[float]:
    """The valid timings of answered requests."""
    return [value for one in window if one.answered and (value := one.timing(metric)) is not None]


def _of_window(rule: Rule, condition: Window, facts: Facts, window: Sequence[Sample], figure: Figure) -> Signal:
    metric, newest = condition.metric, window[-1]
    name = metric if metric == "success_rate" else f"{metric} p{condition.quantile * 100:g}"
    limit = f"limit above {condition.above:g}" if condition.above is not None else f"limit below {condition.below:g}"
    bad = figure.beyond(above=condition.above, below=condition.below)
    if bad and metric == "success_rate" and _is_over(window):
        bad = None
    return Signal(
        rule=rule.name, subject=newest.endpoint, provider=facts.endpoints[newest.endpoint].provider, at=newest.at,
        key=key_of(newest.at, condition.over), bad=bad,
        topic=TOPIC_OF[metric], cause=CAUSE_OF[metric], detector=condition.kind,
        reason=f"{name} over {condition.over / 60:g} min: {written(figure, UNIT_OF[metric])}; {limit}",
        value=figure.value, low=figure.low, high=figure.high, unit=UNIT_OF[metric], n=figure.n,
        threshold=condition.above if condition.above is not None else condition.below,
        vantages=places(window), maintenance=newest.maintenance,
    )  # fmt: skip


def look_providers(rule: Rule, condition: ProviderDown, facts: Facts) -> Iterator[Signal]:
    """One signal per provider whose endpoints were asked lately."""
    for provider, watched in asked(rule, condition, facts, least=condition.failures).items():
        if len(watched) >= condition.min_endpoints:
            yield _of_provider(rule, condition, provider, watched)


def _of_provider(
    rule: Rule, condition: ProviderDown, provider: str, watched: Mapping[str, Sequence[Sample]]
) -> Signal:  # fmt: skip
    newest_of = [own[-condition.failures :] for own in watched.values()]
    down = [own for own in newest_of if not any(one.answered for one in own)]
    last = max((own[-1] for own in newest_of), key=lambda one: (one.at, one.exchange_id))
    lost = [one for own in down for one in own]
    requests = [one for own in newest_of for one in own]
    since = began(watched.values())
    outcomes = ", ".join(sorted({one.outcome for one in lost}))
    maintained = next((one.maintenance for one in lost if one.maintenance), None)
    return Signal(
        rule=rule.name, subject=PROVIDER + provider, provider=provider, at=last.at, key=last.exchange_id,
        bad=len(down) == len(newest_of), topic="availability", cause="provider_down",
        reason=f"{len(down)} of {len(newest_of)} endpoints answer nothing ({outcomes or 'all answer'})",
        since=since or last.at, detector="provider_down",
        value=float(len(down)), unit="endpoints", n=len(newest_of), vantages=places(requests),
        maintenance=maintained, endpoints=tuple(watched),
    )  # fmt: skip
