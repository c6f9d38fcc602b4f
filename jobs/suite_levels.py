"""``weighmaster suite generate``: at which level golden passes a family at 60 to 95%, measured twice.

One sample picks a level, and a second one, of fresh instances, must fall within as well: of several levels that are
looked at once, one may fall there by chance.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from jobs.clock import SystemClock
from jobs.endpoints_now import scorers
from jobs.event_loop import run as run_loop
from jobs.golden_calls import CallingClient
from jobs.out_file import replace_file, require_writable
from jobs.suite_progress import telling
from jobs.terminal import show_document
from monitor.codec import plain
from monitor.config_types import Config, EndpointConfig
from monitor.errors import GoldenError, UsageError
from monitor.percent import percent
from monitor.ports import Client
from monitor.stats.rates import score_interval
from monitor.suites.case import Generated
from monitor.suites.families.catalogue import families, instances
from monitor.types import Endpoint
from monitor.wire.dispatch import decode
from reference.tool_parsers.families import family_of

LOW, HIGH = 0.6, 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How golden does at one level of a family."""

    family: str
    level: int
    k: int
    n: int

    @property
    def fits(self) -> bool:
        """Whether golden passes neither nearly always nor too seldom: there is room on both sides."""
        return LOW <= self.k / self.n <= HIGH

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval, 95%, of the share that golden passes."""
        return score_interval(self.k / self.n, self.n)

    @property
    def open(self) -> bool:
        """Whether the interval leaves 60 to 95%, so that golden may pass more or fewer."""
        low, high = self.interval
        return low < LOW or high > HIGH

    def words(self) -> str:
        """Return k of n and the interval as people read them."""
        low, high = self.interval
        return f"golden {self.k} of {self.n} [{percent(low)}, {percent(high)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What was measured: first samples, and second ones of levels that looked fit. ``chosen`` are second ones."""

    first: Sequence[Level]
    second: Sequence[Level]

    @property
    def chosen(self) -> list[Level]:
        """The levels whose second sample fits too, one a family."""
        return [one for one in self.second if one.fits]


def run(
    config: Config, reference: str, out: Path, *, n: int, n_tries: int, repeats: int, kinds: Sequence[str],
    as_json: bool = False,
) -> int:  # fmt: skip
    """Measure, and write the suite to `out`; 3 when no family fits. `as_json` prints what was measured.

    Raises
    ------
    UsageError
        When there is no such reference or family, or it gives no answers of its own.
    """
    console = Console(stderr=True, highlight=False)
    require_writable(out)
    if reference not in config.references:
        known = ", ".join(config.references) or "none yet"
        raise UsageError(f"no reference is called {reference}: give a name that stands under `references` in the "
                         f"configuration ({known}), not a folder")  # fmt: skip
    unknown = sorted(set(kinds) - families().keys())
    if unknown:
        raise UsageError(f"no family is called {', '.join(unknown)}; there are {', '.join(families())}")
    entry = EndpointConfig(endpoint=Endpoint(
        name="golden", provider="golden", base_url="", model=reference, reference=reference
    ))  # fmt: skip
    with scorers(config, [entry], console) as golden:
        engine: Any = golden[reference]
        if not hasattr(engine, "send"):
            raise UsageError(f"reference {reference}: a recording answers no new questions; use weights or a server")
        family = family_of(reference)
        client: Client = CallingClient(engine, family) if family else engine
        levels = run_loop(_levels(client, kinds or list(families()), n_tries, console))
    chosen = levels.chosen
    if chosen:
        replace_file(out, yaml.safe_dump(suite_of(chosen, n, repeats), sort_keys=False).encode())
    else:
        console.print("golden passes no family at 60 to 95% in two samples", markup=False)
    wide = [one.family for one in chosen if one.open]
    if wide:
        console.print(f"the intervals of {', '.join(wide)} leave 60 to 95%, so golden may pass more or fewer: more "
                      "--tries make them narrower", markup=False, soft_wrap=True)  # fmt: skip
    if as_json:
        written = suite_of(chosen, n, repeats) if chosen else None
        show_document({
            "reference": reference, "levels": list(map(_row, levels.first)), "again": list(map(_row, levels.second)),
            "suite": written, "out": str(out) if chosen else None,
        })  # fmt: skip
    return 0 if chosen else 3


def suite_of(chosen: Sequence[Level], n: int, repeats: int) -> Mapping[str, Any]:
    """Return the suite with `n` cases dealt over the levels, as its file has it."""
    shares = [n // len(chosen) + (at < n % len(chosen)) for at in range(len(chosen))]
    rows = [
        {"family": one.family, "n": share, "level": one.level, "repeats": repeats}
        for one, share in zip(chosen, shares, strict=True) if share
    ]  # fmt: skip
    return {"name": "generated", "generated": rows}


def _row(one: Level) -> Mapping[str, Any]:
    low, high = one.interval
    return {**plain(one), "low": low, "high": high, "fits": one.fits}


@dataclass(slots=True)
class Counting:
    """What golden is being asked, and how much of all it has answered."""

    what: str = "nothing"
    n: int = 0

    def words(self) -> str:
        """Return it as a line of progress."""
        return f"golden has answered {self.n} so far, the last of {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Golden, and the family of which it is asked `n` instances a sample."""

    client: Client
    kind: str
    n: int
    counting: Counting
    tell: Callable[[str], None]

    async def at(self, level: int, *, again: bool) -> Level:
        """Put fresh instances of a level to golden; what it refuses (longer than its context) counts as wrong."""
        cases = instances([Generated(family=self.kind, n=self.n, level=level)], secrets.token_bytes(16), "levels")
        self.counting.what = f"{self.kind}, level {level}"
        k = 0
        for case in cases:
            try:
                capture = await self.client.send(case.request(case.case_id, 0))
            except GoldenError:
                continue
            self.counting.n += 1
            k += case.grade(decode(capture)).passed is True
        found = Level(family=self.kind, level=level, k=k, n=self.n)
        self.tell(f"{self.kind}, level {level}: {'a second time, ' if again else ''}{found.words()}")
        return found


async def _levels(client: Client, kinds: Sequence[str], n: int, console: Console) -> Levels:
    """How golden does at the levels of each family, from the easiest on, and again at the hardest that fits."""
    first: list[Level] = []
    second: list[Level] = []

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    counting = Counting()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.aclose)
        await stack.enter_async_context(telling(tell, counting.words, SystemClock()))
        for kind in kinds:
            asked = Asked(client=client, kind=kind, n=n, counting=counting, tell=tell)
            once = await _upwards(asked)
            first += once
            second += await _again(asked, once)
    return Levels(first=first, second=second)


async def _upwards(asked: Asked) -> list[Level]:
    """The levels from the easiest until golden fails too often."""
    found: list[Level] = []
    for level in range(1, families()[asked.kind].levels + 1):
        found.append(await asked.at(level, again=False))
        if found[-1].k / found[-1].n < LOW / 2:
            break
    return found


async def _again(asked: Asked, once: Sequence[Level]) -> list[Level]:
    """Second samples of the levels that fit, from the hardest down until one fits again."""
    found: list[Level] = []
    for one in reversed([one for one in once if one.fits]):
        found.append(await asked.at(one.level, again=True))
        if found[-1].fits:
            break
    return found
