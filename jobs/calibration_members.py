"""The members of a calibration: the faithful ways to serve a model, one after the other, and then the degraded ones."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jobs.ensemble import Bench, mixed, rescored
from jobs.golden import ensure_gguf
from monitor.errors import GoldenError
from monitor.results import RunRecord
from monitor.tolerances import COMPUTED_BY
from monitor.types import Choice
from monitor.wire.usage import read_usage
from reference.calibration import Member
from reference.engines.local import LocalEngine
from reference.variant_engines import VariantEngines
from reference.variants.mixture import Mixture
from reference.variants.variant import Variant

_OWN = "torch fp32"
_BF16, _FP16 = ("torch bf16", "bfloat16"), ("torch fp16", "float16")
_F16 = "llama.cpp F16"
_PACKAGED = (("llama.cpp F32", "F32", 1), (_F16, "F16", 1), (f"{_F16}, busy", "F16", 2), ("llama.cpp BF16", "BF16", 1))
_VLLM = (("vLLM fp32", "float32"), ("vLLM bf16", "bfloat16"))
_MIXED = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A GGUF file of full precision that llama.cpp serves, `at_once` requests at a time."""

    name: str
    gguf: Path
    at_once: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """One model in all the ways that a calibration compares.

    ``load`` makes the golden engine in another of ``dtypes`` (by member), ``vllm`` is the Python of a venv with vLLM.
    ``degrade`` asks a variant, which the engine ``degrades`` computes, and the faithful member ``plain`` as well.
    ``left_out`` says why by member, as soon as it is known.
    """

    bench: Bench
    golden: LocalEngine
    load: Callable[[str], LocalEngine]
    dtypes: Mapping[str, str]
    files: Sequence[Served]
    vllm: Path | None
    variants: Sequence[Variant]
    degrade: Callable[[Variant], Awaitable[RunRecord]]
    degrades: str
    plain: str
    left_out: dict[str, str] = field(default_factory=dict)

    async def members(self) -> AsyncIterator[Member]:
        """Yield the members as they are measured.

        Raises
        ------
        GoldenError
            When a server that should be faithful answers nothing, or sees other prompts than golden's.
        """
        runs: dict[str, RunRecord] = {}
        async for name, engine, record in self._faithful():
            runs[name] = record
            self._tell_silent(name, record)
            member = await self.bench.member(name, "faithful", engine, record, faithful=True)
            _require_same_prompts(member)
            yield member
        for variant in self.variants:
            found = await self._of(variant, runs[self.plain])
            if found is None:
                continue
            self._tell_silent(variant.name, found)
            yield await self.bench.member(variant.name, variant.family, self.degrades, found, faithful=False)
            if variant == self.variants[0]:
                mixture = Mixture(of=variant, share=_MIXED)
                routed = mixed(mixture, runs[self.plain], found)
                yield await self.bench.member(mixture.name, mixture.family, self.degrades, routed, faithful=False)

    async def _faithful(self) -> AsyncIterator[tuple[str, str, RunRecord]]:
        """Name, engine and run; servers first, since what was given may not be usable."""
        own = await self._asked(_OWN, self.golden)
        yield _OWN, "torch", own
        for one in self.files:
            self._tell(one.name)
            record = await self.bench.with_template(one.name, one.gguf, str, concurrency=one.at_once)
            yield one.name, "llama.cpp", record
        if self.vllm is not None:
            for name, dtype in _VLLM:
                self._tell(name)
                yield name, "vLLM", await self.bench.vllm(name, self.vllm, dtype)
        alone = f"{_OWN}, unbatched"
        self._tell(alone)
        yield alone, "torch", rescored(own, replace(self.golden, batch_tokens=1))
        for name, dtype in self.dtypes.items():
            try:
                record = await self._in_dtype(name, dtype)
            except GoldenError as error:
                self.left_out[name] = str(error)
            else:
                yield name, "torch", record

    async def _in_dtype(self, name: str, dtype: str) -> RunRecord:
        engine = self.load(dtype)
        try:
            return await self._asked(name, engine)
        finally:
            await engine.aclose()

    async def _of(self, variant: Variant, plain: RunRecord) -> RunRecord | None:
        """The run of a variant; None for one that cannot be made of this model, or changes nothing in it."""
        self._tell(variant.name)
        try:
            record = await self.degrade(variant)
        except GoldenError as error:
            self.left_out[variant.name] = str(error)
            return None
        if _said(record) == _said(plain):
            self.left_out[variant.name] = "changes nothing about this model"
            return None
        return record

    async def _asked(self, name: str, engine: LocalEngine) -> RunRecord:
        self._tell(name)
        return await self.bench.asked(name, engine)

    def _tell(self, name: str) -> None:
        self.bench.report(f"measuring {name}")

    def _tell_silent(self, name: str, record: RunRecord) -> None:
        silent = [one.outcome for one in record.exchanges if not one.answered]
        if silent:
            outcomes = ", ".join(sorted(set(silent)))
            self.bench.report(f"{name}: {len(silent)} of {len(record.exchanges)} prompts not answered ({outcomes})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What else an ensemble is to have: see `Ensemble`."""

    variants: Sequence[Variant]
    vllm: Path | None
    load: Callable[[str], LocalEngine]


def packaged(bench: Bench, engines: VariantEngines, wanted: Wanted) -> Ensemble:
    """Return the ensemble of the packaged model: llama.cpp serves it out of its GGUF file, degraded too."""
    files = [
        Served(name=name, gguf=ensure_gguf(bench.home, kind, bench.report), at_once=at_once)
        for name, kind, at_once in _PACKAGED
    ]
    return Ensemble(
        bench=bench, golden=engines.golden(), load=wanted.load, dtypes=dict([_BF16]), files=files, vllm=wanted.vllm,
        variants=wanted.variants, degrade=bench.variant, degrades="llama.cpp", plain=_F16,
    )  # fmt: skip


def of_folder(bench: Bench, engines: VariantEngines, wanted: Wanted, files: Sequence[Served]) -> Ensemble:
    """Return the ensemble of any golden folder: torch computes it in this process, degraded too."""

    async def degrade(variant: Variant) -> RunRecord:
        with engines.of(variant) as engine:
            return await bench.asked(variant.name, engine)

    return Ensemble(
        bench=bench, golden=engines.golden(), load=wanted.load, dtypes=dict([_BF16, _FP16]), files=files,
        vllm=wanted.vllm, variants=wanted.variants, degrade=degrade, degrades=COMPUTED_BY, plain=_OWN,
    )  # fmt: skip


def _said(record: RunRecord) -> list[tuple[Choice, ...]]:
    return [exchange.choices for exchange in record.exchanges]


def _require_same_prompts(member: Member) -> None:
    answered = [one for one in member.evidence.exchanges if one.answered]
    if not answered:
        raise GoldenError(f"{member.name}: answers no prompt")
    counts = [
        (read_usage(one.usage or {}).prompt, member.evidence.golden[one.exchange_id].prompt_tokens) for one in answered
    ]
    same = sum(found == wanted for found, wanted in counts)
    if same < len(counts):
        raise GoldenError(
            f"{member.name}: {len(counts) - same} of {len(counts)} prompts have another number of tokens than in the "
            "golden template; what sees other prompts is not faithful"
        )
