"""One-token answers of real endpoints, recorded once and kept, for identifications that are drawn from the record."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from benchmarks.fidelity_records import identified
from jobs.clock import SystemClock
from jobs.ensemble import Bench
from jobs.golden import ensure_gguf, ensure_golden, packaged_gguf
from jobs.judging import view
from jobs.out_file import replace_file
from monitor.codec import decode, encode
from monitor.ports import Client, ProbeContext, ProbeResult, Scorer
from monitor.results import GoldenView, Metric, RunRecord
from monitor.types import Request
from probes.ask import measured
from probes.prompt_pool import pool_prompts
from reference.variants.bank import find

N_PROMPTS, TOP_K = 160, 20
OWN_LATTICE = "Q4_1 lattice"
"""Golden's own weights in the file they were unpacked from: only the engine's activations are coarser."""

_GGUFS = ("F16", "BF16", "Q8_0", "Q5_0", "Q4_0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What one endpoint answered, and golden's views of it by exchange."""

    name: str
    record: RunRecord
    views: Mapping[str, GoldenView]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneToken:
    """One token to each of some prompts of the pool."""

    kind: ClassVar[str] = "logprobs"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def requests(self, seed: int) -> tuple[Request, ...]:
        return tuple(
            Request(prompt_id=name, messages=messages, max_tokens=1, temperature=0.0, top_logprobs=TOP_K, stream=False)
            for name, messages in pool_prompts(N_PROMPTS, seed).items()
        )

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        return await measured(client, self.requests(context.seed), context, lambda _: ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    record: RunRecord
    views: tuple[GoldenView, ...]


def recorded(
    name: str, folder: Path, home: Path, scorer: Scorer, report: Callable[[str], None], *,
    serve: Callable[[Bench], Coroutine[None, None, RunRecord]] | None = None,
) -> Recorded:  # fmt: skip
    """Return what the endpoint `name` answers: from `folder`, else by serving it now (about a minute).

    Without `serve` it is one of llama.cpp.
    """
    path = folder / f"{name.replace(' ', '-').replace('%', '')}.json"
    if not path.exists():
        report(f"recording {name}")
        bench = Bench(home=home, golden=ensure_golden(home, report), probe=_OneToken(), scorer=scorer,
                      clock=SystemClock(), report=report, parallel=2)  # fmt: skip
        record = identified(asyncio.run(serve(bench) if serve else _answers(name, bench)), name)
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, encode({"record": record, "views": [*view([record], scorer).values()]}))
    found = decode(_File, path.read_bytes())
    return Recorded(name=name, record=found.record, views={one.exchange_id: one for one in found.views})


async def _answers(name: str, bench: Bench) -> RunRecord:
    if name == OWN_LATTICE:
        return await bench.llama_cpp(name, packaged_gguf())
    if name in _GGUFS:
        return await bench.llama_cpp(name, ensure_gguf(bench.home, name, bench.report))
    return await bench.variant(find(name))
