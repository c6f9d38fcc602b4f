"""``weighmaster reference calibrate``: measures the faithful and the degraded ensemble of a model."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from jobs import evidence_folder
from jobs.calibration_members import Ensemble, Served, Wanted, of_folder, packaged
from jobs.clock import SystemClock
from jobs.ensemble import Bench, require_shown
from jobs.golden import MODEL, ensure_golden
from jobs.out_file import replace_file
from jobs.settings import catalogues
from jobs.still_working import telling
from jobs.terminal import show, show_document
from jobs.vllm import check_vllm
from monitor.codec import plain
from monitor.errors import GoldenError, UsageError
from monitor.ports import Detector, Probe
from reference.calibration import Member, MetricCalibration, calibrate
from reference.fingerprint import verify
from reference.ladder import svg
from reference.variant_engines import VariantEngines
from reference.variants.bank import find
from reference.variants.variant import Variant

PROBE = "logprobs"
LADDER = (
    "Q4_0", "Q8_0", "Q5_0", "kv-4", "int4-g64", "nf4", "rope-x0.1", "layers-2", "no-system", "int8-g64", "fp8-channel",
    "kv-8", "Q4_1", "Q4_0+emb-Q8_0", "Q2_K", "other-template", "merges-50%",
)  # fmt: skip
"""The degraded ensemble, the most telling first: a calibration that is stopped is worth something."""

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured. ``ggufs`` are files of full precision, ``vllm`` the Python of a venv with vLLM."""

    n_prompts: int = 32
    variants: Sequence[str] = LADDER
    ggufs: Sequence[Path] = ()
    vllm: Path | None = None
    device: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """The model that is calibrated, where the result goes when nobody says, and what makes its ensemble."""

    model: str
    golden: Path
    place: Path
    ensemble: Callable[[Bench, VariantEngines, Wanted], Ensemble]


def run(home: Path, folder: Path | None, plan: Plan, out: Path | None, *, as_json: bool) -> int:
    """Measure, calibrate, write ``calibration.json`` and the ladders; stopped with Ctrl-C, with what there is.

    Calibrates the sealed golden `folder`, or the packaged model when it is None.

    Raises
    ------
    UsageError
        When a variant is unknown or cannot be shown, a GGUF file is of lower precision or of another model, or there is
        no vLLM where one was named.
    GoldenError
        When `folder` is not sealed or was changed, or too few members were measured for a calibration.
    """
    console = Console(stderr=True, highlight=False)
    variants = [_shown(name) for name in plan.variants]
    if plan.vllm is not None:
        check_vllm(plan.vllm)
    with telling(lambda line: console.print(line, markup=False, soft_wrap=True)) as report:
        subject = _packaged(home, plan, report) if folder is None else _folder(folder, plan, report)
        place = evidence_folder.prepare(out or subject.place)
        members, left_out = _measured(home, subject, plan, variants, report)
    document = _result(members, subject.model, plan.n_prompts, left_out)
    _write(place, document, console)
    for line in _gaps(document):
        console.print(line, markup=False, soft_wrap=True)
    if as_json:
        show_document(plain(document))
    else:
        for table in _tables(document["metrics"]):
            show(table)
    return 0


def _shown(name: str) -> Variant:
    variant = find(name)
    require_shown(variant)
    return variant


def _packaged(home: Path, plan: Plan, report: Callable[[str], None]) -> _Subject:
    if plan.ggufs:
        raise UsageError("--gguf needs FOLDER, the golden folder that the file was converted from")
    golden = ensure_golden(home, report)
    return _Subject(model=MODEL, golden=golden, place=home / "calibration", ensemble=packaged)


def _folder(folder: Path, plan: Plan, report: Callable[[str], None]) -> _Subject:
    from reference.gguf_check import full_precision  # noqa: PLC0415  # tokenizers only where there are files

    verify(folder)
    files = {}
    for path in plan.ggufs:
        report(f"looking into {path}")
        files[f"llama.cpp {full_precision(path, folder, report)}"] = path
    if len(files) < len(plan.ggufs):
        raise UsageError("--gguf: two files of one type; give one of each")
    served = [Served(name=name, gguf=path) for name, path in files.items()]
    name = folder.resolve().name
    return _Subject(
        model=name, golden=folder, place=Path(f"calibration-{name}"), ensemble=partial(of_folder, files=served)
    )


def _measured(
    home: Path, subject: _Subject, plan: Plan, variants: Sequence[Variant], report: Callable[[str], None]
) -> tuple[list[Member], dict[str, str]]:
    """The members, and why others are left out; as far as they were measured when somebody pressed Ctrl-C."""
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

    # One thread: with more than there are idle cores, torch's barriers cost up to 18 times (measured).
    load = partial(TorchEngine.load, device=plan.device, threads=1)
    members: list[Member] = []

    async def measure(ensemble: Ensemble) -> None:
        async for member in ensemble.members():
            members.append(member)  # noqa: PERF401  # one by one, for whoever stops it

    with VariantEngines(subject.golden, load) as engines:
        report("loading the golden engine")
        bench = Bench(
            home=home, golden=subject.golden, probe=_probe(plan.n_prompts), scorer=engines.golden(),
            clock=SystemClock(), report=report, model=subject.model,
        )  # fmt: skip
        wanted = Wanted(variants=variants, vllm=plan.vllm, load=lambda dtype: load(subject.golden, dtype=dtype))
        ensemble = subject.ensemble(bench, engines, wanted)
        try:
            asyncio.run(measure(ensemble))
        except KeyboardInterrupt:
            report(f"stopped; calibrating with {len(members)} members")
    return members, ensemble.left_out


def _probe(n_prompts: int) -> Probe:
    probe = catalogues(detectors=False).probes[PROBE]
    half = n_prompts // 2
    made: Probe = probe(one_token=half, greedy=n_prompts - half)
    return made


def _result(members: Sequence[Member], model: str, n_prompts: int, left_out: dict[str, str]) -> dict[str, Any]:
    found: list[type[Detector]] = list((catalogues().detectors or {}).values())
    detectors = [kind for kind in found if kind.probes is None or PROBE in kind.probes]
    try:
        metrics = calibrate(members, detectors, at=SystemClock().now())
    except ValueError as error:
        raise GoldenError(f"too few members were measured: {error}; let it run longer, or name more of them") from None
    mark = members[0].evidence.fingerprint
    return {
        "format": _FORMAT, "model": model, "fingerprint": mark, "at": SystemClock().now(), "probe": PROBE,
        "n_prompts": n_prompts, "metrics": metrics,
        "left_out": [{"name": name, "reason": why} for name, why in left_out.items()],
    }  # fmt: skip


def _write(folder: Path, document: dict[str, Any], console: Console) -> None:
    files = {"calibration.json": orjson.dumps(plain(document), option=orjson.OPT_INDENT_2)}
    for one in document["metrics"]:
        if one.better == "lower":
            title = f"{document['model']}: {one.metric} of faithful and degraded members"
            files[f"ladder-{one.metric}.svg"] = svg(one, title=title).encode()
    for name, data in files.items():
        replace_file(folder / name, data)
        console.print(f"written: {folder / name}", markup=False, soft_wrap=True)


def _gaps(document: dict[str, Any]) -> Iterator[str]:
    """What there is no figure of, and why as far as that is known."""
    for one in document["left_out"]:
        yield f"left out: {one['name']}: {one['reason']}"
    names = {member.name: None for metric in document["metrics"] for member in metric.members}
    for metric in document["metrics"]:
        lacking = ", ".join(name for name in names if name not in {member.name for member in metric.members})
        if lacking:
            yield f"{metric.metric}: no value of {lacking}"


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
