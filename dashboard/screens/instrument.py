"""Instrument: is it all right itself? Agents and their lag, slots that did not run, what measuring costs, the store."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import streamlit as st

from dashboard import session
from dashboard.instrument_view import (
    Account,
    Agent,
    Coverage,
    DayUsed,
    Instruments,
    accounts,
    lag,
    slot_rows,
    spending,
)
from dashboard.markup import Markup, data, figures, table, tag
from dashboard.page import chart, draw, head, section
from dashboard.screen import Screen, show
from dashboard.store_reader import Configured
from dashboard.words import DASH, ago, number, plain, stamp
from monitor.agent_sign import AgentSign, at_once, names
from monitor.plurals import plural
from monitor.types import Endpoint

SCREEN = Screen(title="Instrument", question="Is the instrument all right?", order=7)

DAY, MONTH = timedelta(days=1), timedelta(days=30)
# Without a sign for so long an agent is called silent.
SILENT = timedelta(minutes=15)
# Lag from which a prober cannot be trusted with latencies (runs are kept out of percentiles by their own bound).
LATE_MS = 50.0
OFF_S = 1.0
SYMBOLS = {"done": "✓", "missed": "✗"}
MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """The newest sign of every agent."""

    agents: tuple[AgentSign, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Endpoints as they were declared."""

    declared: tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Tokens by day."""

    days: tuple[DayUsed, ...]


def main() -> None:
    """Draw the page."""
    head(SCREEN)
    now = datetime.now(UTC)
    since, until = session.window(DAY)
    found = session.ask(Instruments, "instruments", since=since, until=until)
    signs = session.maybe(Signs, "agents")
    _agents(found, signs.agents if signs else (), now)
    _slots(session.ask(Coverage, "coverage", slow=True, since=since))
    _money(now)
    _store(found, now)


def _agents(found: Instruments, signs: tuple[AgentSign, ...], now: datetime) -> None:
    section("Agents", "Each place that probes: when it was heard of, and how late its own loop was in 24 hours.")
    if not found.agents and not signs:
        st.caption("No agent was heard of in 24 hours. Start one with `weighmaster up` or `weighmaster agent`.")
        return
    heard = {one.vantage: one for one in found.agents}
    said = {one.vantage: one for one in signs}
    doubled = at_once(signs, now)
    rows = [
        _agent(name, heard.get(name), said.get(name), now, n=len(doubled.get(name, ())))
        for name in sorted({*heard, *said})
    ]
    heads = ("", "Agent", "Last heard", "Version", "Runs", "Lag p50", "p95", "worst", "Clock off", "Waiting")
    draw(table(heads, rows, label="Agents", cards=True))
    for place, own in doubled.items():
        st.text(plain(f"✗ {len(own)} agents run as {place}: {names(own)}. End one, or give it another vantage."))
    chart("Lag of the loop", "How late the prober's own event loop was: a busy prober would see slow endpoints. Lines "
          "are medians, bars reach to the worst.", lag(found.lags))  # fmt: skip


def _agent(name: str, runs: Agent | None, sign: AgentSign | None, now: datetime, *, n: int) -> list[Markup]:
    seen = [at for at in (runs.heard_at if runs else None, sign.at if sign else None) if at is not None]
    at = max(seen) if seen else None
    lags = runs.lag_ms if runs and runs.lag_ms else (None, None)
    offset = sign.clock_offset_s if sign else None
    trouble = f"{n} agents at once" if n > 1 else _trouble(at, lags[1], offset, now)
    mark = tag("span", "?" if trouble else "✓", class_=f"wm-chip wm-{'suspect' if trouble else 'pass'}")
    return [
        tag("td", mark, f" {trouble or 'well'}"), tag("td", data(name, most=60)), tag("td", ago(at, now)),
        tag("td", data((runs.version if runs else sign.version if sign else ""), most=30)),
        *figures(f"{runs.n_runs:,}" if runs else DASH, _ms(lags[0]), _ms(lags[1]), _ms(runs.worst_ms if runs else None),
                 f"{number(offset)} s" if offset is not None else DASH, f"{sign.waiting:,}" if sign else DASH),
    ]  # fmt: skip


def _trouble(at: datetime | None, late_ms: float | None, offset_s: float | None, now: datetime) -> str:
    if at is None or now - at > SILENT:
        return "silent"
    if late_ms is not None and late_ms > LATE_MS:
        return "busy"
    return "clock off" if offset_s is not None and abs(offset_s) > OFF_S else ""


def _ms(value: float | None) -> str:
    return DASH if value is None else f"{number(value)} ms"


def _slots(found: Coverage) -> None:
    section("Slots of the last 24 hours", "Every scheduled instant has a row, also those that did not run.")
    rows = slot_rows(found.slots)
    if not rows:
        st.caption("Nothing was due.")
        return
    total = sum(row[2] for row in rows)
    done = sum(row[2] for row in rows if row[0] == "done")
    st.caption(f"{done:,} of {plural(total, 'slot')} ran.")
    cells = [
        [tag("td", f"{SYMBOLS.get(state, DASH)} {state}"), tag("td", data(reason, most=160)),
         *figures(f"{n:,}", f"{100 * n / total:.3g} %"), tag("td", f"{stamp(last)} UTC")]
        for state, reason, n, last in rows[:MOST]
    ]  # fmt: skip
    draw(table(("State", "Reason", "Slots", "Share", "Newest"), cells, label="Slots by state", cards=True))


def _money(now: datetime) -> None:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    section("Spend", "Tokens as endpoints count them; money by the declared prices. Days are UTC days.")
    spent = session.ask(Coverage, "coverage", slow=True, since=midnight.isoformat()).spent
    configured = session.maybe(Configured, "configured", slow=True) or Configured()
    declared = session.ask(Declared, "declared", slow=True).declared
    found = accounts(spent, configured.budgets, declared)
    if configured.trouble:
        st.text(configured.trouble)
    if found:
        heads = ("Endpoint", "Budget used", "Today", "of", "USD", "of USD", "Uncounted answers")
        rows = [_account(one) for one in found[:MOST]]
        draw(table(heads, rows, label="Spend of today against budget", cards=True))
        if len(found) > MOST:
            st.caption(f"{plural(len(found) - MOST, 'more endpoint')} used less of theirs.")
    else:
        st.caption("Nothing was spent today, and no budget is configured.")
    days = session.ask(Spending, "spending", slow=True, since=(midnight - MONTH).isoformat()).days
    chart("Tokens per day", "All endpoints together, the last 30 UTC days.", spending(days))


def _account(one: Account) -> list[Markup]:
    share = one.share
    full = share is not None and share >= 1
    width = f"width:{min(100.0, 100 * (share or 0.0)):.1f}%"
    bar = tag("div", class_="wm-bar wm-late" if full else "wm-bar", style=width) if share is not None else None
    words = "no budget" if share is None else f"{'✗ ' if full else ''}{100 * share:.3g} %"
    usd = DASH if one.used.usd is None else f"{one.used.usd:.4g}"
    return [
        tag("td", data(one.endpoint, most=60)), tag("td", words, bar, class_="wm-cell"),
        *figures(f"{one.used.tokens:,}", f"{one.budget.tokens:,}" if one.budget.tokens else DASH, usd,
                 f"{one.budget.usd:g}" if one.budget.usd else DASH, f"{one.n_uncounted:,}"),
    ]  # fmt: skip


def _store(found: Instruments, now: datetime) -> None:
    section("Store and judge")
    waiting = found.waiting
    lines = [
        f"✗ The last ingest failed: {found.trouble}" if found.trouble else "✓ The store takes everything in.",
        f"{plural(waiting.n, 'run')} {'waits' if waiting.n == 1 else 'wait'} for the judge, the oldest since "
        f"{ago(waiting.oldest_at, now).removesuffix(' ago')}."
        if waiting.n else "✓ No run waits for the judge.",
        f"{found.counts.get('rejected', 0):,} records were rejected.",
    ]  # fmt: skip
    for line in lines:
        st.text(line)
    sizes = ", ".join(f"{name} {size / 2**20:,.0f} MiB" for name, size in found.sizes.items())
    counts = ", ".join(f"{n:,} {name}" for name, n in found.counts.items() if n)
    st.caption(plain(f"{sizes or 'in memory'}. Rows: {counts or 'none'}."))


if __name__ == "__main__":
    show(__file__)
