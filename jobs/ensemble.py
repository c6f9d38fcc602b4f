"""What members of an ensemble are measured with: engines in this process, and real servers of the golden weights."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jobs.alignment import align
from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.golden import MODEL, ensure_gguf, write_variant
from jobs.judging import view
from jobs.lab import serve
from jobs.version import version
from jobs.vllm import serve_vllm
from monitor.errors import UsageError
from monitor.ports import Client, Probe, Scorer, Tokenizer
from monitor.results import Evidence, RunRecord
from monitor.types import Choice, Endpoint, Exchange, TokenLogprob, TopToken
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from probes.run import run_probe
from reference.calibration import Member
from reference.folder import read_json, read_json_if_any, templates
from reference.variants.bank import spec_of
from reference.variants.mixture import Mixture
from reference.variants.variant import Variant

PRECISION = "f16"
_CONTEXT = 2048
_UNSHOWN = frozenset({"context", "sampler", "mixture"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all members are measured with: the probe, the golden scorer, and where files are."""

    home: Path
    golden: Path
    probe: Probe
    scorer: Scorer
    clock: SystemClock
    report: Callable[[str], None]
    model: str = MODEL
    seed: int = 20260101
    parallel: int = 1
    """Requests that a server is asked for at a time."""

    async def asked(self, name: str, client: Client, *, concurrency: int = 1) -> RunRecord:
        """Run the probe against `client`."""
        record, _ = await run_probe(
            self.probe, self._endpoint(name, "http://127.0.0.1"), client, clock=self.clock, seed=self.seed,
            vantage="calibration", prober_version=version(), concurrency=concurrency,
        )  # fmt: skip
        return record

    async def member(self, name: str, family: str, engine: str, record: RunRecord, *, faithful: bool) -> Member:
        """Score what was answered, and make the member."""
        views = await asyncio.to_thread(view, [record], self.scorer)
        endpoint = self._endpoint(name, "http://127.0.0.1")
        evidence = Evidence(
            endpoint=endpoint, runs=(record.run,), exchanges=record.exchanges, golden=views,
            fingerprint=self.scorer.fingerprint,
        )  # fmt: skip
        return Member(name=name, faithful=faithful, family=family, engine=engine, evidence=evidence)

    async def llama_cpp(
        self, name: str, gguf: Path, *options: str, concurrency: int | None = None,
        through: Callable[[Client], Client] | None = None,
    ) -> RunRecord:  # fmt: skip
        """Serve `gguf` on loopback with `options` and run the probe against it, `through` what changes requests."""
        log, at_once = self.home / "logs" / "calibrate.log", concurrency or self.parallel
        size = ("--parallel", str(at_once), "--ctx", str(at_once * _CONTEXT)) if at_once > 2 else ()
        async with serve(gguf, log, "--alias", self.model, *size, *options) as server:
            endpoint = self._endpoint(name, await server.url())
            async with _client(endpoint, self.clock) as client:
                return await self.asked(name, through(client) if through else client, concurrency=at_once)

    async def vllm(self, name: str, python: Path, dtype: str, *options: str) -> RunRecord:
        """Serve the golden folder in `dtype` with the vLLM that `python` has, and run the probe against it.

        ``options`` are further ones of vLLM's command line.
        """
        log = self.home / "logs" / "calibrate-vllm.log"
        longest = read_json(self.golden, "config.json").get("max_position_embeddings", _CONTEXT)
        async with (
            serve_vllm(
                python, self.golden, log, dtype=dtype, model=self.model, context=min(_CONTEXT, longest),
                options=options,
            ) as url,
            _client(self._endpoint(name, url), self.clock) as client,
        ):
            return await self.asked(name, client)

    async def with_template(
        self, name: str, gguf: Path, change: Callable[[str], str], *options: str, concurrency: int | None = None
    ) -> RunRecord:
        """Do what `llama_cpp` does, with golden's own chat template, changed by `change`, in place of the file's."""
        source = templates(self.golden, read_json_if_any(self.golden, "tokenizer_config.json"))["default"]
        with self._folder() as folder:
            path = folder / "template.jinja"
            path.write_text(change(source), "utf-8")
            return await self.llama_cpp(name, gguf, "--template", str(path), *options, concurrency=concurrency)

    async def variant(self, variant: Variant) -> RunRecord:
        """Serve `variant` as its scheme can be served, and run the probe against it.

        Raises UsageError for a variant that no server of the lab can be.
        """
        require_shown(variant)
        options = variant.server_options(read_json(self.golden, "config.json"))
        if variant.changes in {"template", "cache", "rope"}:
            gguf = await asyncio.to_thread(ensure_gguf, self.home, "F16", self.report)
            if variant.changes == "template":
                return await self.with_template(variant.name, gguf, variant.template, *options)
            return await self.llama_cpp(variant.name, gguf, *options)
        with self._folder() as folder:
            gguf = folder / "variant.gguf"
            await asyncio.to_thread(write_variant, self.home, spec_of(variant), gguf, self.report)
            return await self.llama_cpp(variant.name, gguf, *options)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """A folder for the length of a context, of its own: two calibrations at a time must not meet."""
        home = self.home / "calibration"
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home) as name:
            yield Path(name)

    def _endpoint(self, name: str, url: str) -> Endpoint:
        return Endpoint(
            name=f"calibration/{name}", provider="calibration", base_url=url, model=self.model, reference="golden",
            precision=PRECISION,
        )  # fmt: skip


def require_shown(variant: Variant) -> None:
    """Refuse a variant that the logprobs of a server do not show.

    Raises
    ------
    UsageError
        For samplers, mixtures and contexts cut short.
    """
    if variant.changes in _UNSHOWN:
        raise UsageError(f"variant {variant.name}: logprobs of a server do not show another {variant.changes}")


def mixed(mixture: Mixture, faithful: RunRecord, degraded: RunRecord) -> RunRecord:
    """Return the run of a provider that routes a share of the requests: exchanges of one or the other."""
    pairs = zip(faithful.exchanges, degraded.exchanges, strict=True)
    chosen = tuple(bad if mixture.routes(number) else good for number, (good, bad) in enumerate(pairs))
    return replace(faithful, exchanges=chosen)


def rescored(record: RunRecord, scorer: Scorer) -> RunRecord:
    """Return `record` as `scorer` sees it: the same tokens and alternatives, with its logprobs.

    So the batches of a scorer can be compared with one another.
    """
    tasks = [
        align(exchange, scorer.tokenizer).task if exchange.choice.logprobs else None for exchange in record.exchanges
    ]
    scores = iter(scorer.score([task for task in tasks if task is not None]))
    exchanges = []
    for exchange, task in zip(record.exchanges, tasks, strict=True):
        if task is None:
            exchanges.append(exchange)
            continue
        pairs = zip(task.gather, next(scores).gathered, strict=True)
        rows = [dict(zip(ids, row, strict=True)) for ids, row in pairs]
        exchanges.append(_with_logprobs(exchange, rows, scorer.tokenizer))
    return replace(record, exchanges=tuple(exchanges))


def _with_logprobs(exchange: Exchange, rows: Sequence[dict[int, Any]], tokenizer: Tokenizer) -> Exchange:
    def changed(token: TokenLogprob | TopToken, row: dict[int, Any]) -> Any:
        found = tokenizer.token_id(token.token, token.bytes)
        known = token.id if found is None else found
        return replace(token, logprob=float(row[known])) if known in row else token

    entries = tuple(
        replace(changed(entry, row), top=tuple(changed(top, row) for top in entry.top))
        for entry, row in zip(exchange.choice.logprobs or (), rows, strict=False)
    )
    choice: Choice = replace(exchange.choice, logprobs=entries)
    return replace(exchange, choices=(choice,))


@asynccontextmanager
async def _client(endpoint: Endpoint, clock: SystemClock) -> AsyncIterator[Client]:
    async with Heartbeat(clock).beating() as heartbeat:
        client = http_client(endpoint, None, clock, heartbeat, Limits(first_byte_s=60, stall_s=30, total_s=180))
        try:
            yield client
        finally:
            await client.aclose()
