"""What the plan may use on its busiest day, beside what each endpoint's budget allows."""

from dataclasses import dataclass
from datetime import date

from rich.text import Text

from monitor.budget import Amount, Spent, over, priced
from monitor.config import Config
from monitor.config_types import EndpointConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """Most tokens and USD of one day by plan and by budget; None is no bound, or no known price.

    ``never`` are probes of which not even one run fits into the budget of a day.
    """

    endpoint: str
    tokens_planned: int
    tokens_budget: int | None
    usd_planned: float | None
    usd_budget: float | None
    over: bool
    never: tuple[str, ...] = ()


def budget_rows(config: Config) -> list[BudgetRow]:
    """Return one row per endpoint that has a budget, in the order of the file.

    The plan counts the most that its runs can take on a day that fits all of them.
    """
    return [_row(entry, planned(config, entry), _never(config, entry)) for entry in config.endpoints if entry.budget]


def _never(config: Config, entry: EndpointConfig) -> tuple[str, ...]:
    plans = [one for one in config.plans if entry.endpoint.name in one.endpoints]
    costs = [(str(one.probe.kind), one.probe.cost()) for one in plans]
    runs = [(kind, priced(entry.endpoint, cost.tokens_in, cost.tokens_out)) for kind, cost in costs]
    return tuple(kind for kind, cost in runs if over(entry.budget, Spent(day=date.min), cost) is not None)


def planned(config: Config, entry: EndpointConfig) -> Amount:
    """Return the most that the plans of an endpoint can use in a day."""
    amount = Amount()
    for plan in config.plans:
        if entry.endpoint.name in plan.endpoints:
            cost, runs = plan.probe.cost(), plan.cadence.most_per_day
            amount = amount.plus(priced(entry.endpoint, cost.tokens_in * runs, cost.tokens_out * runs))
    return amount


def budget_lines(rows: list[BudgetRow]) -> Text:
    """Return one line per row for people."""
    return Text("\n".join(["Budgets per UTC day", *map(_line, rows)]), overflow="fold")


def _row(entry: EndpointConfig, amount: Amount, never: tuple[str, ...]) -> BudgetRow:
    return BudgetRow(
        endpoint=entry.endpoint.name, tokens_planned=amount.tokens, tokens_budget=entry.budget.tokens,
        usd_planned=amount.usd, usd_budget=entry.budget.usd,
        over=over(entry.budget, Spent(day=date.min), amount) is not None, never=never,
    )  # fmt: skip


def _line(row: BudgetRow) -> str:
    parts = []
    if row.tokens_budget is not None:
        parts.append(f"up to {row.tokens_planned:,} tokens planned, the budget is {row.tokens_budget:,}")
    if row.usd_budget is not None:
        usd = "unknown" if row.usd_planned is None else f"{row.usd_planned:.3g}"
        parts.append(f"up to {usd} USD planned, the budget is {row.usd_budget:.3g}")
    return f"  {row.endpoint}: {'; '.join(parts)}{_consequence(row)}"


def _consequence(row: BudgetRow) -> str:
    if row.never:
        return f": not one run of {', '.join(row.never)} fits, all will be skipped"
    return ": the last runs of such a day will be skipped" if row.over else ""
