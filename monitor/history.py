"""Runs of one probe in the order of time: what detectors look back over."""

from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter

from monitor.results import Evidence, Run
from monitor.types import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One run with its answered exchanges."""

    run: Run
    exchanges: tuple[Exchange, ...]


def series(evidence: Evidence, probes: Collection[str]) -> list[Past]:
    """Return all runs of `probes` in the evidence and its history, oldest first.

    Runs that were made with other parameters than the newest asked something else, and are left out.
    """
    earlier = [Past(run=record.run, exchanges=_answered(record.exchanges)) for record in evidence.history]
    found = {past.run.run_id: past for past in earlier}
    for run in evidence.runs:
        own = [exchange for exchange in evidence.exchanges if exchange.run_id == run.run_id]
        found[run.run_id] = Past(run=run, exchanges=_answered(own))
    runs = sorted((past for past in found.values() if past.run.probe in probes), key=attrgetter("run.started_at"))
    return [past for past in runs if _asks(past.run) == _asks(runs[-1].run)]


def _answered(exchanges: Collection[Exchange]) -> tuple[Exchange, ...]:
    return tuple(exchange for exchange in exchanges if exchange.answered)


def _asks(run: Run) -> tuple[str, int, str]:
    return run.probe, run.probe_version, run.params_sha256
