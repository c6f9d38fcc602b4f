"""Answers of real endpoints with known faults, recorded once and kept, for audits that are drawn from the record."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import orjson

from jobs.clock import SystemClock
from jobs.ensemble import Bench
from jobs.golden import ensure_gguf, ensure_golden
from jobs.judging import view
from jobs.out_file import replace_file
from monitor.codec import decode, encode
from monitor.ports import Client, ProbeContext, ProbeResult, Scorer
from monitor.results import GoldenView, Metric, RunRecord
from monitor.types import Capture, Exchange, Request
from probes.ask import measured
from probes.prompt_pool import pool_prompts
from reference.variants.bank import find

N_GREEDY, GREEDY_TOKENS, TOP_K = 96, 12, 20
N_SAMPLES, SAMPLE_TOKENS = 112, 24
_SEED = 20261130  # of the prompts; those on which the constants of detectors were set had another
MANY_PROMPTS, MANY_ANSWERS, GOLDEN_ANSWERS = 16, 6, 12
_MANY_SEED = 77


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What one endpoint answered, and golden's views of it: with its logprobs, and of its text alone."""

    name: str
    record: RunRecord
    views: Mapping[str, GoldenView]
    text_views: Mapping[str, GoldenView]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Everything:
    """All that an audit may ask: greedy answers with logprobs, and samples."""

    kind: ClassVar[str] = "everything"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def requests(self, seed: int) -> tuple[Request, ...]:
        greedy = [
            Request(prompt_id=f"greedy-{name}", messages=messages, max_tokens=GREEDY_TOKENS, temperature=0.0,
                    top_logprobs=TOP_K, stream=False)
            for name, messages in pool_prompts(N_GREEDY, seed).items()
        ]  # fmt: skip
        samples = [
            Request(prompt_id=f"sample-{name}", messages=messages, max_tokens=SAMPLE_TOKENS, temperature=1.0, top_p=1.0,
                    seed=seed + at, stream=False)
            for at, (name, messages) in enumerate(pool_prompts(N_SAMPLES, seed + 1).items())
        ]  # fmt: skip
        return (*greedy, *samples)

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        return await measured(client, self.requests(context.seed), context, lambda _: ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _ManyAnswers(_Everything):
    """Several samples of each of some prompts, for tests that compare two sets of texts."""

    def requests(self, seed: int) -> tuple[Request, ...]:
        return tuple(
            Request(prompt_id=name, messages=messages, max_tokens=SAMPLE_TOKENS, temperature=1.0, top_p=1.0,
                    seed=seed + 1000 * at + which, stream=False)
            for at, (name, messages) in enumerate(pool_prompts(MANY_PROMPTS, _MANY_SEED).items())
            for which in range(MANY_ANSWERS)
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Changed:
    """A client behind which sampled requests are served with other settings than they ask for."""

    inner: Client
    settings: Mapping[str, Any]

    async def send(self, request: Request) -> Capture:
        sampled = request.temperature == 1
        capture = await self.inner.send(replace(request, **self.settings) if sampled else request)
        return replace(capture, request=request)

    async def aclose(self) -> None:
        await self.inner.aclose()


SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "T 0.7": {"temperature": 0.7}, "T 1.3": {"temperature": 1.3}, "top-p 0.9": {"top_p": 0.9},
}  # fmt: skip
_WEAK: Mapping[str, Mapping[str, Any]] = {"T 0.9": {"temperature": 0.9}}
"""Served for `benchmarks/identify_draws.py` alone."""

ENGINES = ("F16", "BF16", "Q8_0")
"""Faithful endpoints, the last of them when 8 bit is declared."""


def recorded(name: str, folder: Path, home: Path, scorer: Scorer, report: Callable[[str], None]) -> Recorded:
    """Return what the endpoint `name` answers: from `folder`, else by serving it now (some minutes)."""
    folder = folder / f"{_SEED}-{N_GREEDY}x{GREEDY_TOKENS}-{N_SAMPLES}x{SAMPLE_TOKENS}-{TOP_K}"
    path = folder / f"{name.replace(' ', '-').replace('%', '')}.json"
    if not path.exists():
        report(f"recording {name}")
        bench = Bench(home=home, golden=ensure_golden(home, report), probe=_Everything(), scorer=scorer,
                      clock=SystemClock(), report=report, parallel=4, seed=_SEED)  # fmt: skip
        record = identified(asyncio.run(_answers(name, bench)), name)
        views = [*view([record], scorer).values()]
        texts = [*view([without_logprobs(record)], scorer).values()]
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, encode({"record": record, "views": views, "text_views": texts}))
    found = decode(_File, path.read_bytes())
    return Recorded(
        name=name, record=found.record, views={one.exchange_id: one for one in found.views},
        text_views={one.exchange_id: one for one in found.text_views},
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    record: RunRecord
    views: tuple[GoldenView, ...]
    text_views: tuple[GoldenView, ...]


Tokens = list[list[list[int]]]
"""Answers by prompt, as token ids."""


def many(
    name: str, folder: Path, home: Path, scorer: Any, report: Callable[[str], None]
) -> tuple[Tokens, Tokens]:
    """Return several sampled answers to each of some prompts: the endpoint's, and golden's own."""
    path = folder / f"many-{name.replace(' ', '-')}.json"
    if not path.exists():
        report(f"recording many answers of {name}")
        bench = Bench(home=home, golden=ensure_golden(home, report), probe=_ManyAnswers(), scorer=scorer,
                      clock=SystemClock(), report=report, parallel=4)  # fmt: skip
        record = asyncio.run(_answers(name, bench))
        prompts = pool_prompts(MANY_PROMPTS, _MANY_SEED)
        ids = [scorer.tokenizer.prompt_ids(messages) for messages in prompts.values()]
        golden = scorer.draw(ids, n=GOLDEN_ANSWERS, max_tokens=SAMPLE_TOKENS, seed=_MANY_SEED)
        served: Tokens = [[] for _ in prompts]
        for one in record.exchanges:
            if one.request and one.answered:
                served[list(prompts).index(one.request.prompt_id)].append(scorer.tokenizer.encode(one.choice.content))
        replace_file(path, encode({"served": served, "golden": golden}))
    found = orjson.loads(path.read_bytes())
    return found["served"], found["golden"]


async def _answers(name: str, bench: Bench) -> RunRecord:
    settings = SETTINGS.get(name) or _WEAK.get(name)
    if settings is not None:
        gguf = ensure_gguf(bench.home, "F16", bench.report)
        return await bench.llama_cpp(name, gguf, through=lambda client: _Changed(client, settings))
    if name in ENGINES:
        return await bench.llama_cpp(name, ensure_gguf(bench.home, name, bench.report))
    return await bench.variant(find(name))


def identified(record: RunRecord, name: str) -> RunRecord:
    """Name exchanges by what was asked: audits and draws take them one by one."""
    exchanges = tuple(
        replace(one, exchange_id=one.request.prompt_id if one.request else "", run_id=name) for one in record.exchanges
    )
    return replace(record, exchanges=exchanges, run=replace(record.run, run_id=name))


def without_logprobs(record: RunRecord) -> RunRecord:
    """Return the record of an endpoint that gives none."""
    return replace(record, exchanges=tuple(map(_text_only, record.exchanges)))


def _text_only(exchange: Exchange) -> Exchange:
    choices = tuple(replace(choice, logprobs=None) for choice in exchange.choices)
    return replace(exchange, choices=choices)
