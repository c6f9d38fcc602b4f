"""When things run, from the configuration: cadences of plans, maintenance windows, budgets. Reports what cannot be."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from monitor.budget import Budget
from monitor.cadence import Cadence, Intervals, Times
from monitor.config_check import Checker
from monitor.config_source import Path
from monitor.config_types import EndpointEntry, MaintenanceEntry
from monitor.cron import parse_cron
from monitor.maintenance import Window

Names = tuple[str, ...]
Matching = Callable[[Path], Names]


def cadences(
    checker: Checker, path: Path, values: Mapping[str, Any], endpoints: Names, launched: Mapping[str, datetime | None]
) -> list[tuple[Cadence, Names]]:
    """Return the cadences of a plan, each with its endpoints: stages count from each endpoint's own launch.

    Parameters
    ----------
    checker, path
        Where mistakes go, and the place of the plan.
    values
        Checked values of the plan, defaults left out.
    endpoints
        Those that the plan asks.
    launched
        ``since`` by endpoint.
    """
    every: Intervals | None = values.get("every")
    if every is None:
        return [(Times(cron=parse_cron(values["cron"], values.get("timezone", "UTC"))), endpoints)]
    if len(every.stages) == 1:
        return [(every, endpoints)]
    since = values.get("since")
    return _staged(checker, path, every, {name: since or launched.get(name) for name in endpoints})


def _staged(
    checker: Checker, path: Path, every: Intervals, starts: Mapping[str, datetime | None]
) -> list[tuple[Cadence, Names]]:
    groups: dict[datetime, list[str]] = {}
    for name, start in starts.items():
        if start is None:
            remedy = "since: 2026-12-01 here, or at the endpoint"
            checker.add((*path, "every"), f"has stages, and nothing says from when they count for {name}", remedy)
            return []
        groups.setdefault(start, []).append(name)
    return [(replace(every, since=start), tuple(names)) for start, names in groups.items()]


def check_times(checker: Checker, path: Path) -> bool:
    """Report keys of a plan that do not go together, as the file has them; return whether it says when to run."""
    at = checker.document.at
    every, cron = at((*path, "every")), at((*path, "cron"))
    if every is None and cron is None:
        checker.add((*path, "every"), "is missing", 'write every: 1h, or cron: "0 9 * * mon-fri"')
    if every is not None and cron is not None:
        checker.add((*path, "cron"), "stands beside every", "keep one of them")
    if cron is None and at((*path, "timezone")) is not None:
        checker.add((*path, "timezone"), "counts for cron only", "intervals are in UTC")
    if at((*path, "since")) is not None and not (isinstance(every, str) and " then " in every):
        checker.add((*path, "since"), "counts for stages only", "such as every: 1h for 14d then 1d")
    return (every is None) != (cron is None)


def budget(checker: Checker, path: Path, entry: EndpointEntry) -> Budget:
    """Return the budget of an endpoint; money can only be counted where prices are known."""
    for price in ("price_in_usd", "price_out_usd"):
        if entry.budget_usd_per_day is not None and getattr(entry, price) is None:
            checker.add((*path, "budget_usd_per_day"), f"needs {price}", "write it, or use budget_tokens_per_day")
            break
    return Budget(tokens=entry.budget_tokens_per_day, usd=entry.budget_usd_per_day)


def windows(
    checker: Checker, entries: list[tuple[Any, dict[str, Any]]], providers: Mapping[str, str], matching: Matching
) -> tuple[Window, ...]:
    """Return the maintenance windows.

    Parameters
    ----------
    checker
        Where mistakes go.
    entries
        Position and content of each entry.
    providers
        Provider by endpoint.
    matching
        Returns the endpoints that the patterns of the entry at a path match, and reports those that match none.
    """
    found: list[Window] = []
    for i, _ in entries:
        path: Path = ("maintenance", i)
        names = matching(path)
        _check_providers(checker, (*path, "providers"), providers)
        entry = checker.make(MaintenanceEntry, path)
        if entry is not None and _once_or_again(checker, path, entry):
            found.append(_window(entry, _covered(entry, names, providers)))
    return tuple(found)


def _once_or_again(checker: Checker, path: Path, entry: MaintenanceEntry) -> bool:
    if entry.start is None and entry.cron is None:
        checker.add((*path, "start"), "is missing", 'start: 2026-12-01T02:00:00Z, or cron: "0 2 * * sun"')
    if entry.start is not None and entry.cron is not None:
        checker.add((*path, "cron"), "stands beside start", "keep one of them")
    return (entry.start is None) != (entry.cron is None)


def _check_providers(checker: Checker, path: Path, providers: Mapping[str, str]) -> None:
    written = checker.document.at(path)
    for j, provider in enumerate(written if isinstance(written, list) else ()):
        if isinstance(provider, str) and provider not in providers.values():
            checker.add_unknown((*path, j), "provider", sorted(set(providers.values())))


def _covered(entry: MaintenanceEntry, names: Names, providers: Mapping[str, str]) -> frozenset[str]:
    of_providers = {name for name, provider in providers.items() if provider in (entry.providers or ())}
    return frozenset(of_providers | set(names)) if entry.endpoints or not entry.providers else frozenset(of_providers)


def _window(entry: MaintenanceEntry, covered: frozenset[str]) -> Window:
    cron = None if entry.cron is None else parse_cron(entry.cron, entry.timezone)
    return Window(endpoints=covered, duration_s=entry.duration, reason=entry.reason, start=entry.start, cron=cron)
