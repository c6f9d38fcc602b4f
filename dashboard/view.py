"""View models of the overview: endpoints as the store tells them -> order, sentence and cells. No Streamlit."""

from collections.abc import Iterable, Mapping, Sequence

from dashboard.store_reader import EndpointNow, Measured
from dashboard.words import (
    ALWAYS,
    DASH,
    MARKS,
    UNJUDGED,
    Mark,
    detector_label,
    interval,
    metric_label,
    quantity,
    rate,
    spoken,
)
from monitor.results import Status, Verdict
from monitor.summary import counting

SEVERITY: tuple[Status, ...] = ("fail", "suspect", "inconclusive", "pass")
"""Worst first."""

NAMED = 4
"""Endpoints that the sentence names per group; the others are counted."""


OPERATION = frozenset({"availability", "speed_shift", "faults", "parameters"})
"""Detectors whose failures say nothing about fidelity."""


def overall(endpoint: EndpointNow) -> Status | None:
    """The worst status of the newest verdicts; None when nothing was judged. One undecided check is not a pass."""
    found = {verdict.status for verdict in counting(endpoint.verdicts)}
    return next((status for status in SEVERITY if status in found), None)


def overall_mark(endpoint: EndpointNow) -> tuple[Mark, str]:
    """The mark and the word for an endpoint as a whole."""
    status = overall(endpoint)
    return (MARKS[status], status) if status else (UNJUDGED, "not judged yet")


def worst_first(endpoints: Iterable[EndpointNow]) -> list[EndpointNow]:
    """Order endpoints by need of attention, then by name."""
    ranks: dict[Status | None, int] = {status: rank for rank, status in enumerate(SEVERITY)}
    ranks[None] = SEVERITY.index("pass")
    return sorted(endpoints, key=lambda endpoint: (ranks[overall(endpoint)], endpoint.endpoint))


def detectors_of(endpoints: Iterable[EndpointNow]) -> tuple[str, ...]:
    """The columns of the grid: those that are always there, then what else has judged, by name."""
    found = {verdict.detector for endpoint in endpoints for verdict in endpoint.verdicts}
    return (*ALWAYS, *sorted(found - set(ALWAYS)))


def effect_text(verdict: Verdict) -> str:
    """The measured size with unit and interval, or that there is none."""
    if verdict.effect is None:
        return "no effect measured"
    ends = interval(verdict.low, verdict.high, verdict.unit) or "(no interval)"
    return f"{quantity(verdict.effect, verdict.unit)} {ends}"


def metric_text(metrics: Mapping[str, Measured], name: str) -> str:
    """The newest value of a metric with its unit; rates as percent."""
    measured = metrics.get(name)
    if measured is None:
        return DASH
    if measured.k is not None:
        return rate(measured.k, measured.n)
    return quantity(measured.value, metric_label(name).unit)


def sample_text(metrics: Mapping[str, Measured], name: str) -> str:
    """What a metric rests on: k of n for rates, n otherwise."""
    measured = metrics.get(name)
    if measured is None:
        return "no data yet"
    return f"{measured.k} of {measured.n}" if measured.k is not None else _n(measured.n)


def _n(count: int) -> str:
    """A sample size that no line break can tear apart."""
    return f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{count}"


def sentence(endpoints: Sequence[EndpointNow]) -> str:
    """Say in plain words which endpoints serve what they declare, which do not, and why."""
    groups: dict[Status | None, list[EndpointNow]] = {}
    for endpoint in sorted(endpoints, key=lambda endpoint: endpoint.endpoint):
        groups.setdefault(overall(endpoint), []).append(endpoint)
    failing = groups.get("fail", [])
    unfaithful = [endpoint for endpoint in failing if set(_detectors(endpoint, "fail")) - OPERATION]
    unavailable = [endpoint for endpoint in failing if endpoint not in unfaithful]
    parts = [
        _faithful(groups.get("pass", []), len(endpoints)),
        _part(unfaithful, "fail", "is not faithful", "are not faithful"),
        _part(unavailable, "fail", "does not answer reliably", "do not answer reliably"),
        _part(groups.get("suspect", []), "suspect", "is suspect", "are suspect"),
        _part(groups.get("inconclusive", []), "inconclusive", "could not be decided", "could not be decided"),
        _part(groups.get(None, []), None, "waits for its first verdict", "wait for their first verdict"),
    ]
    return " ".join(part for part in parts if part)


def _faithful(good: Sequence[EndpointNow], n: int) -> str:
    if not good:
        return f"None of {n} endpoints is known to be faithful." if n > 1 else ""
    if len(good) == n:
        return f"All {n} endpoints are faithful." if n > 1 else f"{good[0].endpoint} is faithful."
    return f"{len(good)} of {n} endpoints {'is' if len(good) == 1 else 'are'} faithful: {_names(good, None)}."


def _part(group: Sequence[EndpointNow], status: Status | None, one: str, many: str) -> str:
    if not group:
        return ""
    if len(group) == 1:
        causes = _causes(group[0], status)
        return f"{group[0].endpoint} {one}{f': {causes}' if causes else ''}."
    return f"{len(group)} {many}: {_names(group, status)}."


def _names(group: Sequence[EndpointNow], status: Status | None) -> str:
    shown = [f"{endpoint.endpoint}{_bracketed(_causes(endpoint, status))}" for endpoint in group[:NAMED]]
    rest = len(group) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _detectors(endpoint: EndpointNow, status: Status) -> list[str]:
    return [verdict.detector for verdict in endpoint.verdicts if verdict.status == status]


def _causes(endpoint: EndpointNow, status: Status | None) -> str:
    """What the verdicts of this status name as cause; the detector where they name none."""
    if status is None:
        return ""
    found = [verdict for verdict in endpoint.verdicts if verdict.status == status]
    words = [spoken(verdict.cause or detector_label(verdict.detector).title.lower()) for verdict in found]
    # One that says more stands for the one that it specifies: `weights: Q4_0` for `weights`.
    told = dict.fromkeys(words)
    return ", ".join(one for one in told if not any(other.startswith(f"{one}: ") for other in told))
