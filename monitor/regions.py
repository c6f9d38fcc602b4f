"""Endpoints as agents in different places see them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.alerting.facts import Sample
from monitor.stats.medians import Median, median_of
from monitor.stats.rates import Rate, wilson

TIMED = "speed"
"""The probe whose timings are compared: others ask prompts of other lengths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One endpoint from one vantage.

    ``answered`` counts complete answers among the requests that say something of the endpoint. ``ttft_ms`` and ``tps``
    are medians of the probe `TIMED`; None where nothing was measured.
    """

    endpoint: str
    vantage: str
    answered: Rate
    ttft_ms: Median | None
    tps: Median | None


def regions(samples: Iterable[Sample]) -> list[Region]:
    """Return one row per endpoint and vantage, by name. Requests in maintenance windows are left out."""
    groups: dict[tuple[str, str], list[Sample]] = {}
    for one in samples:
        if one.maintenance is None:
            groups.setdefault((one.endpoint, one.vantage), []).append(one)
    return [_region(*key, groups[key]) for key in sorted(groups)]


def _region(endpoint: str, vantage: str, samples: list[Sample]) -> Region:
    own = [one for one in samples if one.is_own]
    return Region(
        endpoint=endpoint, vantage=vantage, answered=wilson(sum(one.answered for one in own), len(own)),
        ttft_ms=_median(samples, "ttft_ms"), tps=_median(samples, "tps"),
    )  # fmt: skip


def _median(samples: list[Sample], metric: str) -> Median | None:
    values = [
        value for one in samples if one.probe == TIMED and one.answered and (value := one.timing(metric)) is not None
    ]
    return median_of(values) if values else None
