"""The instrument itself: agents, slots, spending -> rows and charts. No Streamlit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import altair as alt

from dashboard.axes import HEIGHT, ChartLike, Row, inline, time_axis, time_scale
from dashboard.palette import DASHES, GRAY, GREEN, ORANGE, RED, SERIES
from dashboard.words import number, stamp
from monitor.budget import Amount, Budget, priced
from monitor.types import Endpoint

STATES = {"done": GREEN, "skipped": ORANGE, "overlapped": GRAY, "missed": RED}
MOST_LINES = len(SERIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One place that probes. ``lag_ms`` are the median and p95 of how late its own loop was."""

    vantage: str
    heard_at: datetime
    version: str
    n_runs: int
    n_lag: int
    lag_ms: tuple[float, ...] | None
    worst_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """Lag of one agent in one bucket of time."""

    vantage: str
    at: datetime
    n: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Runs that nobody judged yet."""

    n: int
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """What ``/api/instruments`` says."""

    agents: tuple[Agent, ...]
    lags: tuple[Lag, ...]
    waiting: Waiting
    sizes: Mapping[str, int]
    trouble: str | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCount:
    """Slots of one endpoint and probe by state and reason."""

    endpoint: str
    probe: str
    state: str
    reason: str | None
    n: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Tokens of one endpoint as it counted them; ``n_uncounted`` answers did not say."""

    endpoint: str
    tokens_in: int
    tokens_out: int
    n_uncounted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What ``/api/coverage`` says."""

    slots: tuple[SlotCount, ...]
    spent: tuple[Used, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsed:
    """Tokens of one UTC day."""

    day: str
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one endpoint has cost today against what it may. ``usd`` None: a price is not known."""

    endpoint: str
    used: Amount
    budget: Budget
    n_uncounted: int

    @property
    def share(self) -> float | None:
        """Share of the budget that is used, the larger one of tokens and money; None without a budget."""
        shares = []
        if self.budget.tokens:
            shares.append(self.used.tokens / self.budget.tokens)
        if self.budget.usd and self.used.usd is not None:
            shares.append(self.used.usd / self.budget.usd)
        return max(shares, default=None)


def accounts(spent: Sequence[Used], budgets: Mapping[str, Budget], declared: Sequence[Endpoint]) -> list[Account]:
    """One account per endpoint that has a budget or spent something, the fullest first."""
    used = {one.endpoint: one for one in spent}
    known = {one.name: one for one in declared}
    found = [
        Account(
            endpoint=name, budget=budgets.get(name, Budget()), used=_amount(known.get(name), used.get(name)),
            n_uncounted=used[name].n_uncounted if name in used else 0,
        )
        for name in sorted({*used, *budgets})
    ]  # fmt: skip
    return sorted(found, key=lambda one: (-(one.share or 0.0), -one.used.tokens, one.endpoint))


def _amount(endpoint: Endpoint | None, used: Used | None) -> Amount:
    tokens = (used.tokens_in, used.tokens_out) if used is not None else (0, 0)
    if endpoint is None:
        return Amount(tokens_in=tokens[0], tokens_out=tokens[1], usd=None)
    return priced(endpoint, *tokens)


def slot_rows(slots: Sequence[SlotCount]) -> list[tuple[str, str, int, datetime]]:
    """(state, reason, slots, newest), what did not run first."""
    counts: dict[tuple[str, str], tuple[int, datetime]] = {}
    for one in slots:
        key = one.state, one.reason or ""
        n, last = counts.get(key, (0, one.last_at))
        counts[key] = n + one.n, max(last, one.last_at)
    order = ["missed", "overlapped", "skipped"]
    rows = [(state, reason, n, last) for (state, reason), (n, last) in counts.items()]
    return sorted(rows, key=lambda row: (order.index(row[0]) if row[0] in order else len(order), -row[2]))


def lag(lags: Sequence[Lag]) -> ChartLike | None:
    """Median lag by agent over time, bars up to the worst; None without any."""
    rows: list[Row] = [
        {
            "vantage": one.vantage[:60], "at": one.at.astimezone(UTC).isoformat(), "value": one.value, "high": one.high,
            "time": f"{stamp(one.at)} UTC", "text": f"{number(one.value)} ms, worst {number(one.high)}", "n": one.n,
        }
        for one in lags if one.value is not None
    ]  # fmt: skip
    if not rows:
        return None
    names = list(dict.fromkeys(row["vantage"] for row in rows))[:MOST_LINES]
    legend = alt.Legend(orient="top", title=None) if len(names) > 1 else None
    colour = alt.Color("vantage:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), legend=legend)
    dashes = alt.Scale(domain=names, range=[list(one) for one in DASHES[: len(names)]])
    top = max(row["high"] for row in rows)
    y = alt.Scale(type="symlog", domain=[0, top * 1.2 or 1], nice=False)
    x = alt.X("at:T", scale=time_scale(rows), axis=time_axis(rows))
    base = inline(rows).encode(x=x, color=colour)
    decades = [tick for tick in (0, 1, 10, 100, 1000, 10_000, 100_000) if tick <= top * 1.2]
    axis = alt.Axis(title="ms (log)", values=decades, format=",~f")
    tips = [alt.Tooltip(f"{name}:N") for name in ("vantage", "time", "text", "n")]
    return alt.layer(
        base.mark_rule(opacity=0.3).encode(y=alt.Y("value:Q", scale=y, axis=axis), y2="high:Q"),
        base.mark_line(strokeWidth=1.5).encode(
            y=alt.Y("value:Q", scale=y), strokeDash=alt.StrokeDash("vantage:N", scale=dashes, legend=legend)
        ),
        base.mark_circle(size=30, opacity=1).encode(y=alt.Y("value:Q", scale=y), tooltip=tips),
    ).properties(height=HEIGHT)


def spending(days: Sequence[DayUsed]) -> ChartLike | None:
    """Tokens per UTC day, prompt and output; None without any."""
    if not days:
        return None
    rows = [
        {"day": one.day, "kind": kind, "tokens": tokens, "text": f"{tokens:,} {kind} tokens"}
        for one in days
        for kind, tokens in (("prompt", one.tokens_in), ("output", one.tokens_out))
    ]
    kinds = alt.Scale(domain=["prompt", "output"], range=[SERIES[0], SERIES[1]])
    drawn = (
        inline(rows)
        .mark_bar()
        .encode(
            x=alt.X("day:O", axis=alt.Axis(title="UTC day", labelOverlap=True, labelAngle=0)),
            y=alt.Y("tokens:Q", axis=alt.Axis(title="tokens", format="~s", tickCount=5)),
            color=alt.Color("kind:N", scale=kinds, legend=alt.Legend(orient="top", title=None)),
            tooltip=[alt.Tooltip("day:N"), alt.Tooltip("text:N", title="used")],
        )
    )
    made: ChartLike = drawn.properties(height=HEIGHT)
    return made
