"""``weighmaster suite generate``: at which level golden passes a family at 60 to 95%, measured."""

import secrets
from collections.abc import Mapping, Sequence
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
from monitor.ports import Client
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
    chosen = hardest(levels)
    if chosen:
        replace_file(out, yaml.safe_dump(suite_of(chosen, n, repeats), sort_keys=False).encode())
    else:
        console.print("golden passes no family at 60 to 95%", markup=False)
    if as_json:
        written = suite_of(chosen, n, repeats) if chosen else None
        show_document({"reference": reference, "levels": [plain(one) for one in levels], "suite": written,
                       "out": str(out) if chosen else None})  # fmt: skip
    return 0 if chosen else 3


def suite_of(chosen: Sequence[Level], n: int, repeats: int) -> Mapping[str, Any]:
    """Return the suite with `n` cases dealt over the levels, as its file has it."""
    shares = [n // len(chosen) + (at < n % len(chosen)) for at in range(len(chosen))]
    rows = [
        {"family": one.family, "n": share, "level": one.level, "repeats": repeats}
        for one, share in zip(chosen, shares, strict=True) if share
    ]  # fmt: skip
    return {"name": "generated", "generated": rows}


def hardest(levels: Sequence[Level]) -> list[Level]:
    """Return the last level of each family that fits; levels come from the easiest on."""
    return list({one.family: one for one in levels if one.fits}.values())


async def _levels(client: Client, kinds: Sequence[str], n: int, console: Console) -> list[Level]:
    """How golden does at the levels of each family, from the easiest until it fails too often."""
    found: list[Level] = []

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    counting = Counting()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.aclose)
        await stack.enter_async_context(telling(tell, counting.words, SystemClock()))
        for kind in kinds:
            for level in range(1, families()[kind].levels + 1):
                one = await measured(client, kind, level, n, counting)
                tell(f"{kind}, level {level}: golden {one.k} of {one.n}")
                found.append(one)
                if one.k / one.n < LOW / 2:
                    break
    return found


@dataclass(slots=True)
class Counting:
    """What golden is being asked, and how much of all it has answered."""

    what: str = "nothing"
    n: int = 0

    def words(self) -> str:
        """Return it as a line of progress."""
        return f"golden has answered {self.n} so far, the last of {self.what}"


async def measured(client: Client, kind: str, level: int, n: int, counting: Counting) -> Level:
    """Put `n` instances to golden; what it refuses (longer than its context) counts as wrong."""
    cases = instances([Generated(family=kind, n=n, level=level)], secrets.token_bytes(16), "levels")
    k = 0
    for case in cases:
        counting.what = f"{kind}, level {level}"
        try:
            capture = await client.send(case.request(case.case_id, 0))
        except GoldenError:
            continue
        counting.n += 1
        k += case.grade(decode(capture)).passed is True
    return Level(family=kind, level=level, k=k, n=n)
