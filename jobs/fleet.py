"""``weighmaster fleet``: which agents there are, and how each endpoint looks from where they are."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.table import Table
from rich.text import Text

from jobs.store_client import SOON_S, client_for
from jobs.terminal import show, show_document
from monitor.agent_sign import AgentSign, at_once, names
from monitor.alerting.facts import Sample
from monitor.codec import plain
from monitor.config_types import Config
from monitor.ports import Clock
from monitor.regions import Region, regions
from monitor.stats.medians import Median
from monitor.stats.rates import Rate

SILENT = timedelta(minutes=10)
"""An agent signs every minute while the store takes its records; after so long it has gone quiet."""
MOST_SAMPLES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Agents:
    agents: tuple[AgentSign, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Samples:
    samples: tuple[Sample, ...]


def run(config: Config, url: str, clock: Clock, *, since_s: float, as_json: bool) -> int:
    """Print both tables; return 1 when an agent is quiet or two have one vantage, 3 when there is none, else 0."""
    now = clock.now()
    agents, samples = asyncio.run(_asked(config, url, now - timedelta(seconds=since_s)))
    found, doubled = regions(samples), at_once(agents, now)
    if as_json:
        signs = [
            {**plain(one), "quiet": now - one.at > SILENT, "twice": one in doubled.get(one.vantage, ())}
            for one in agents
        ]
        show_document({"agents": signs, "regions": plain(found), "cut": len(samples) >= MOST_SAMPLES})
    else:
        show(_agents(agents, doubled, now))
        show(_regions(found, cut=len(samples) >= MOST_SAMPLES))
    return 3 if not agents else int(bool(doubled) or any(now - one.at > SILENT for one in agents))


async def _asked(config: Config, url: str, since: datetime) -> tuple[Sequence[AgentSign], Sequence[Sample]]:
    store = client_for(config.store, url, answer_s=SOON_S)
    try:
        agents = (await store.read(_Agents, "agents")).agents
        return agents, (await store.read(_Samples, "alert-samples", since=since.isoformat())).samples
    finally:
        await store.aclose()


def _agents(agents: Sequence[AgentSign], doubled: Mapping[str, Sequence[AgentSign]], now: datetime) -> Table:
    table = Table(title=None if agents else "no agent has signed yet", caption=_mistake(doubled))
    for name in ("agent", "machine", "last sign", "version", "clock ahead of the store's", "records waiting"):
        table.add_column(name, overflow="fold")
    for one in agents:
        quiet = ", quiet" if now - one.at > SILENT else ""
        ago = f"{(now - one.at).total_seconds():.0f} s ago{quiet}"
        table.add_row(Text(one.vantage), Text(one.host or "–"), ago, Text(one.version), _clock(one), f"{one.waiting:,}")
    return table


def _mistake(doubled: Mapping[str, Sequence[AgentSign]]) -> Text | None:
    lines = [
        f"{len(own)} agents run as {place}: {names(own)}. End one, or give it another vantage and a spool of its own."
        for place, own in doubled.items()
    ]
    return Text("\n".join(lines), style="red") if lines else None


def _clock(one: AgentSign) -> str:
    if one.clock_offset_s is None:
        return "–"
    return f"{one.clock_offset_s:+.3f} s, within {one.clock_error_s or 0:.3f}"


def _regions(found: Sequence[Region], *, cut: bool) -> Table:
    table = Table(caption=f"the newest {MOST_SAMPLES:,} requests" if cut else None)
    for name in ("endpoint", "from", "answered [95%]", "TTFT p50, ms [95%]", "tokens/s p50 [95%]"):
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(
            Text(one.endpoint), Text(one.vantage), _rate(one.answered), _median(one.ttft_ms), _median(one.tps)
        )  # fmt: skip
    return table


def _rate(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "–"
    return f"{rate.k}/{rate.n}, {rate.value:.1%} [{rate.low:.1%}, {rate.high:.1%}]"


def _median(one: Median | None) -> str:
    if one is None:
        return "–"
    ends = "" if one.low is None or one.high is None else f" [{one.low:.4g}, {one.high:.4g}]"
    return f"{one.value:.4g}{ends}, n={one.n}"
