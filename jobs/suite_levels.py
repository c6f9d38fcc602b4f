"""``weighmaster suite generate``: at which level golden passes a family at 60 to 95%, measured."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from jobs.endpoints_now import scorers
from jobs.event_loop import run as run_loop
from jobs.golden_calls import CallingClient
from jobs.out_file import replace_file, require_writable
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
    config: Config, reference: str, out: Path, *, n: int, n_tries: int, repeats: int, kinds: Sequence[str]
) -> int:
    """Measure, and write the suite to `out`; 3 when no family fits.

    Raises
    ------
    UsageError
        When there is no such reference or family, or it gives no answers of its own.
    """
    console = Console(stderr=True, highlight=False)
    require_writable(out)
    if reference not in config.references:
        raise UsageError(f"no reference is called {reference}; the configuration has {', '.join(config.references)}")
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
        chosen = run_loop(_chosen(client, kinds or list(families()), n_tries, console))
    if not chosen:
        console.print("golden passes no family at 60 to 95%", markup=False)
        return 3
    replace_file(out, yaml.safe_dump(suite_of(chosen, n, repeats), sort_keys=False).encode())
    return 0


def suite_of(chosen: Sequence[Level], n: int, repeats: int) -> Mapping[str, Any]:
    """Return the suite with `n` cases dealt over the levels, as its file has it."""
    shares = [n // len(chosen) + (at < n % len(chosen)) for at in range(len(chosen))]
    rows = [
        {"family": one.family, "n": share, "level": one.level, "repeats": repeats}
        for one, share in zip(chosen, shares, strict=True) if share
    ]  # fmt: skip
    return {"name": "generated", "generated": rows}


async def _chosen(client: Client, kinds: Sequence[str], n: int, console: Console) -> list[Level]:
    """The hardest fitting level of each family; levels are tried from the easiest until golden fails too often."""
    found = []
    for kind in kinds:
        best = None
        for level in range(1, families()[kind].levels + 1):
            one = await measured(client, kind, level, n)
            console.print(f"{kind}, level {level}: golden {one.k} of {one.n}", markup=False, soft_wrap=True)
            best = one if one.fits else best
            if one.k / one.n < LOW / 2:
                break
        found += [best] if best is not None else []
    return found


async def measured(client: Client, kind: str, level: int, n: int) -> Level:
    """Put `n` instances to golden; what it refuses (longer than its context) counts as wrong."""
    cases = instances([Generated(family=kind, n=n, level=level)], secrets.token_bytes(16), "levels")
    k = 0
    for case in cases:
        try:
            capture = await client.send(case.request(case.case_id, 0))
        except GoldenError:
            continue
        k += case.grade(decode(capture)).passed is True
    return Level(family=kind, level=level, k=k, n=n)
