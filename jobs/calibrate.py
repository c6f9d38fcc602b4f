"""``weighmaster reference calibrate``: measures the faithful and the degraded ensemble of the packaged model."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from jobs.clock import SystemClock
from jobs.ensemble import Bench, mixed, rescored
from jobs.golden import MODEL, ensure_gguf, ensure_golden
from jobs.settings import catalogues
from jobs.vllm import check_vllm
from monitor.codec import plain
from monitor.errors import GoldenError
from monitor.ports import Detector, Probe
from monitor.results import RunRecord
from reference.calibration import Member, MetricCalibration, calibrate
from reference.ladder import svg
from reference.variants.bank import find
from reference.variants.mixture import Mixture

PROBE = "logprobs"
LADDER = (
    "Q4_0", "Q8_0", "Q5_0", "kv-4", "int4-g64", "nf4", "rope-x0.1", "layers-2", "no-system", "int8-g64", "fp8-channel",
    "kv-8", "Q4_1", "Q4_0+emb-Q8_0", "Q2_K", "other-template", "merges-50%",
)  # fmt: skip
"""The degraded ensemble, the most telling first: a calibration that is stopped is worth something."""

_PLAIN = "llama.cpp F16"
_LLAMA_CPP = (
    ("llama.cpp F32", "F32", 1), (_PLAIN, "F16", 1), ("llama.cpp F16, busy", "F16", 2), ("llama.cpp BF16", "BF16", 1)
)  # fmt: skip
_VLLM = (("vLLM fp32", "float32"), ("vLLM bf16", "bfloat16"))
_MIXED = 0.1
_FORMAT = 1


def run(
    home: Path, out: Path | None, *, n_prompts: int, variants: Sequence[str] | None, as_json: bool,
    vllm: Path | None = None,
) -> int:  # fmt: skip
    """Measure, calibrate, write ``calibration.json`` and the ladder; stopped with Ctrl-C, with what there is.

    `vllm` is the Python of a venv with vLLM, which then joins the faithful ensemble.

    Raises
    ------
    UsageError
        When `vllm` has no vLLM.
    GoldenError
        When too few members were measured for a calibration.
    """
    console = Console(stderr=True, highlight=False)
    chosen = [find(name).name for name in variants or LADDER]
    if vllm is not None:
        check_vllm(vllm)
    members: list[Member] = []
    try:
        asyncio.run(_measure(home, n_prompts, chosen, members, console, vllm=vllm))
    except KeyboardInterrupt:
        console.print(f"stopped; calibrating with {len(members)} members")
    document = _result(members, n_prompts)
    folder = out or home / "calibration"
    _write(folder, document, console)
    if as_json:
        print(orjson.dumps(plain(document)).decode())  # noqa: T201  # the document that --json promises
    else:
        for table in _tables(document["metrics"]):
            Console(width=None if Console().is_terminal else 120).print(table)
    return 0


async def _measure(
    home: Path, n_prompts: int, variants: Sequence[str], members: list[Member], console: Console, *, vllm: Path | None
) -> None:
    golden = await asyncio.to_thread(ensure_golden, home, console.print)
    console.print("loading the golden engine")
    engine = await asyncio.to_thread(_engine, golden)
    bench = Bench(
        home=home, golden=golden, probe=_probe(n_prompts), scorer=engine, clock=SystemClock(), report=console.print
    )  # fmt: skip
    clock = bench.clock
    started = clock.monotonic_ns()
    async for member in _members(bench, engine, variants, vllm):
        members.append(member)
        spent_s, started = (clock.monotonic_ns() - started) / 1e9, clock.monotonic_ns()
        kind = "faithful" if member.faithful else "degraded"
        console.print(f"{len(members):2d} {kind} {member.name} ({member.engine}), {spent_s:.0f} s", markup=False)


async def _members(
    bench: Bench, engine: Any, variants: Sequence[str], vllm: Path | None
) -> AsyncIterator[Member]:
    async for member in _torch_members(bench, engine):
        yield member
    runs: dict[str, RunRecord] = {}
    for name, kind, concurrency in _LLAMA_CPP:
        gguf = await asyncio.to_thread(ensure_gguf, bench.home, kind, bench.report)
        runs[name] = await bench.llama_cpp(name, gguf, concurrency=concurrency)
        yield await bench.member(name, "faithful", "llama.cpp", runs[name], faithful=True)
    if vllm is not None:
        for name, dtype in _VLLM:
            record = await bench.vllm(name, vllm, dtype)
            yield await bench.member(name, "faithful", "vLLM", record, faithful=True)
    for spec in variants:
        variant = find(spec)
        record = await bench.variant(variant)
        yield await bench.member(variant.name, variant.family, "llama.cpp", record, faithful=False)
        if spec == variants[0]:
            mixture = Mixture(of=variant, share=_MIXED)
            routed = mixed(mixture, runs[_PLAIN], record)
            yield await bench.member(mixture.name, mixture.family, "llama.cpp", routed, faithful=False)


async def _torch_members(bench: Bench, engine: Any) -> AsyncIterator[Member]:
    """The golden engine itself, one sequence at a time instead of batches, and in bfloat16."""
    own = await bench.asked("torch fp32", engine)
    yield await bench.member("torch fp32", "faithful", "torch", own, faithful=True)
    alone = await asyncio.to_thread(_engine, bench.golden, batch_tokens=1)
    record = await asyncio.to_thread(rescored, own, alone)
    yield await bench.member("torch fp32, unbatched", "faithful", "torch", record, faithful=True)
    half = await asyncio.to_thread(_engine, bench.golden, dtype="bfloat16")
    record = await bench.asked("torch bf16", half)
    await half.aclose()
    yield await bench.member("torch bf16", "faithful", "torch", record, faithful=True)


def _engine(golden: Path, **options: Any) -> Any:
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

    # One thread: with more than there are idle cores, torch's barriers cost up to 18 times (measured).
    return TorchEngine.load(golden, device="cpu", threads=1, **options)


def _probe(n_prompts: int) -> Probe:
    probe = catalogues(detectors=False).probes[PROBE]
    half = n_prompts // 2
    made: Probe = probe(one_token=half, greedy=n_prompts - half)
    return made


def _result(members: Sequence[Member], n_prompts: int) -> dict[str, Any]:
    found: list[type[Detector]] = list((catalogues().detectors or {}).values())
    detectors = [kind for kind in found if kind.probes is None or PROBE in kind.probes]
    try:
        metrics = calibrate(members, detectors, at=SystemClock().now())
    except ValueError as error:
        raise GoldenError(f"too few members were measured: {error}; let it run longer") from None
    mark = members[0].evidence.fingerprint
    return {
        "format": _FORMAT, "model": MODEL, "fingerprint": mark, "at": SystemClock().now(), "probe": PROBE,
        "n_prompts": n_prompts, "metrics": metrics,
    }  # fmt: skip


def _write(folder: Path, document: dict[str, Any], console: Console) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "calibration.json"
    path.write_bytes(orjson.dumps(plain(document), option=orjson.OPT_INDENT_2))
    console.print(f"written: {path}", markup=False, soft_wrap=True)
    for one in document["metrics"]:
        if one.better == "lower":
            picture = folder / f"ladder-{one.metric}.svg"
            picture.write_text(svg(one, title=f"{MODEL}: {one.metric} of faithful and degraded servers"), "utf-8")
            console.print(f"written: {picture}", markup=False, soft_wrap=True)


def _tables(metrics: Sequence[MetricCalibration]) -> Iterator[Table]:
    for one in metrics:
        kept = sum(fit.dropped is None for fit in one.prompts.values())
        bound = "at least" if one.better == "higher" else "at most"
        table = Table(title=f"{one.metric} ({one.unit}): faithful {bound} {one.tolerance:.3g}, "
                            f"{kept} of {len(one.prompts)} prompts kept", title_justify="left")  # fmt: skip
        for column in ("member", "ensemble", "family", "value", "interval", "beyond"):
            table.add_column(column)
        for member in sorted(one.members, key=lambda member: member.value, reverse=one.better == "higher"):
            interval = "–" if member.low is None or member.high is None else f"{member.low:.2g} .. {member.high:.2g}"
            kind = "faithful" if member.faithful else "degraded"
            beyond = "yes" if member.beyond else "no"
            table.add_row(member.name, kind, member.family, f"{member.value:.3g}", interval, beyond)
        yield table
