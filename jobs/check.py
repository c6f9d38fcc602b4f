"""What the configured plan does to a day: requests, tokens and money, per endpoint and probe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from jobs.check_budgets import budget_lines, budget_rows
from jobs.check_short import short_line, too_short
from monitor.budget import priced
from monitor.codec import plain
from monitor.config import Config, ProbePlan
from monitor.errors import Problem
from monitor.types import Endpoint

_DAY_S = 86_400.0
_TABLE_COLUMNS = 80
_CAPTION = "Tokens in are estimated, tokens out are the most that can come."


class _Cost(Protocol):
    """Requests and tokens of one run of a probe."""

    @property
    def n_requests(self) -> int: ...
    @property
    def tokens_in(self) -> int: ...
    @property
    def tokens_out(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """What one probe does to one endpoint in a day, on average, of several stages in the fastest.

    ``usd_per_day`` is None where a price is unknown.
    """

    endpoint: str
    probe: str
    cadence: str
    every_s: float
    requests_per_day: float
    tokens_in_per_day: float
    tokens_out_per_day: float
    usd_per_day: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTotal:
    """The sum of all rows; ``usd_per_day`` is None when a row has no price, ``usd_known_per_day`` adds the others."""

    n_rows: int
    n_unpriced: int
    requests_per_day: float
    tokens_in_per_day: float
    tokens_out_per_day: float
    usd_per_day: float | None
    usd_known_per_day: float


def plan_rows(config: Config) -> list[PlanRow]:
    """Return one row per endpoint and probe, in the order of the file's endpoints.

    Token numbers are what the probes expect to send and at most receive; the golden engine costs no requests.
    """
    return [
        _row(entry.endpoint, plan)
        for entry in config.endpoints
        for plan in config.plans
        if entry.endpoint.name in plan.endpoints
    ]


def total(rows: Sequence[PlanRow]) -> PlanTotal:
    """Return the sum of `rows`."""
    prices = [row.usd_per_day for row in rows if row.usd_per_day is not None]
    return PlanTotal(
        n_rows=len(rows),
        n_unpriced=len(rows) - len(prices),
        requests_per_day=sum(row.requests_per_day for row in rows),
        tokens_in_per_day=sum(row.tokens_in_per_day for row in rows),
        tokens_out_per_day=sum(row.tokens_out_per_day for row in rows),
        usd_per_day=sum(prices) if len(prices) == len(rows) else None,
        usd_known_per_day=sum(prices),
    )


def as_json(config: Config) -> dict[str, Any]:
    """Return the plan as one JSON-able document."""
    rows = plan_rows(config)
    return {
        "vantage": config.vantage,
        "endpoints": [entry.endpoint.name for entry in config.endpoints],
        "disabled": {entry.endpoint.name: entry.disabled for entry in config.endpoints if entry.disabled},
        "references": sorted(config.references),
        "detectors": [detector.kind for detector in config.detectors],
        "plan": plain(rows),
        "total": plain(total(rows)),
        "budgets": plain(budget_rows(config)),
        "too_short": too_short(config),
    }


def plan_view(config: Config, width: int) -> RenderableType:
    """Return the plan as a table, or as lines where a table would cut its numbers, and the budgets under it."""
    rows, budgets = plan_rows(config), budget_rows(config)
    plan = plan_table(rows) if width >= _TABLE_COLUMNS else plan_lines(rows)
    short = too_short(config)
    below = [budget_lines(budgets)] if budgets else []
    below += [Text(short_line(config, short), overflow="fold")] if short else []
    return Group(plan, *below) if below else plan


def disabled(config: Config) -> tuple[Problem, ...]:
    """Return a mistake for every endpoint that cannot be asked because its key has no value (case OP-08)."""
    return tuple(
        Problem(path=f"{entry.endpoint.name}.api_key", message=f"{entry.disabled}: this endpoint is disabled")
        for entry in config.endpoints
        if entry.disabled
    )


def plan_lines(rows: Sequence[PlanRow]) -> Text:
    """Return the plan as two lines per endpoint and probe."""
    everything = total(rows)
    told = [
        _lines(f"{row.endpoint}  {row.probe}  {_often(row)}", row, usd_text(row.usd_per_day)) for row in rows
    ]
    last = _lines("total", everything, _total_usd(everything))
    return Text("\n".join(["Plan per day", *told, last, _CAPTION]), overflow="fold")


def _lines(head: str, row: PlanRow | PlanTotal, usd: str) -> str:
    requests, tokens_in, tokens_out = _numbers(row)
    return f"{head}\n  {requests} requests, {tokens_in} tokens in, {tokens_out} tokens out, USD {usd}"


def plan_table(rows: Sequence[PlanRow]) -> Table:
    """Return the plan as a table for people."""
    table = Table(title="Plan per day", caption=_CAPTION)
    for name in ("endpoint", "probe", "when"):
        table.add_column(name, overflow="fold")  # a name that is cut short cannot be looked up
    for name in ("requests", "tokens in", "tokens out", "USD"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.endpoint, row.probe, _often(row), *_numbers(row), usd_text(row.usd_per_day))
    everything = total(rows)
    table.add_section()
    table.add_row("total", "", "", *_numbers(everything), _total_usd(everything))
    return table


def _often(row: PlanRow) -> str:
    return row.cadence if " " in row.cadence and " then " not in row.cadence else f"every {row.cadence}"


def usd_text(usd: float | None) -> str:
    """Return an amount of money; an unknown one says so."""
    if usd is None:
        return "unknown"
    return f"{usd:.2f}" if usd >= 1 or usd == 0 else f"{usd:.2g}"


def _total_usd(everything: PlanTotal) -> str:
    if everything.usd_per_day is not None:
        return usd_text(everything.usd_per_day)
    if everything.n_unpriced == everything.n_rows:
        return "unknown"
    return f"{usd_text(everything.usd_known_per_day)} + unknown"


def _numbers(row: PlanRow | PlanTotal) -> tuple[str, ...]:
    counts = (row.requests_per_day, row.tokens_in_per_day, row.tokens_out_per_day)
    return tuple(f"{count:,.0f}" if count >= 10 or count == 0 else f"{count:.1f}" for count in counts)


def _row(endpoint: Endpoint, plan: ProbePlan) -> PlanRow:
    cost: _Cost = plan.probe.cost()
    runs = _DAY_S / plan.every_s
    usd = priced(endpoint, cost.tokens_in, cost.tokens_out).usd
    return PlanRow(
        endpoint=endpoint.name,
        probe=plan.probe.kind,
        cadence=plan.cadence.text(),
        every_s=plan.every_s,
        requests_per_day=cost.n_requests * runs,
        tokens_in_per_day=cost.tokens_in * runs,
        tokens_out_per_day=cost.tokens_out * runs,
        usd_per_day=None if usd is None else usd * runs,
    )
