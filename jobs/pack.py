"""``weighmaster reference pack``: records what the golden weights answer to the probes, for who has no weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jobs.clock import SystemClock
from jobs.pack_file import write_pack
from jobs.references import load_torch
from jobs.version import version
from monitor.errors import UsageError
from monitor.types import Request
from probes.logprobs import Logprobs
from reference.engines.local import LocalEngine
from reference.pack_making import record

SEED = 20260101


def make(
    folder: Path, out: Path, *, device: str, dtype: str, template: Mapping[str, Any], top_k: int, n_samples: int,
    sample_tokens: int, variants: Sequence[str], report: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    """Record the prompts of the ``logprobs`` probe with the golden weights in `folder`; return file, hash and counts.

    Raises
    ------
    GoldenError
        When the weights cannot be used.
    UsageError
        When a variant is unknown, or changes something other than weights.
    """
    names = _weight_variants(variants)
    report(f"loading {folder}")
    engine = load_torch(str(folder), device, dtype, template)
    assert isinstance(engine, LocalEngine)  # noqa: S101  # the only kind that load_torch makes
    about = {"made_by": f"weighmaster {version()}", "probe": Logprobs.kind, "probe_version": Logprobs.version,
             "seed": SEED, "variants": names, "tool_triggers": "not recorded", "signed": False}  # fmt: skip
    pack = record(
        engine, asked(), folder=folder, created_at=SystemClock().now(), about=about, template=template, top_k=top_k,
        n_samples=n_samples, sample_tokens=sample_tokens, seed=SEED, variants=names,
        varied=lambda name: _varied(engine, name), report=report,
    )  # fmt: skip
    sha256 = write_pack(pack, out)
    return {"file": str(out), "sha256": sha256, "bytes": out.stat().st_size, "fingerprint": pack.fingerprint.digest,
            "prompts": len(pack.prompts), "positions": len(pack.positions), "samples": len(pack.samples),
            "deviations": len(pack.deviations)}  # fmt: skip


def asked() -> tuple[Request, ...]:
    """What is recorded: the requests of the ``logprobs`` probe."""
    return Logprobs().requests(SEED)


def _weight_variants(wanted: Sequence[str]) -> list[str]:
    """Names of the wanted variants; ``all`` means all that change weights only."""
    from reference.variants.bank import bank, find  # noqa: PLC0415  # seconds to import

    if list(wanted) == ["all"]:
        return [name for name, variant in bank().items() if variant.changes == "weights"]
    for name in wanted:
        if find(name).changes != "weights":
            raise UsageError(f"variant {name!r} changes more than weights: its deviations cannot be predicted here")
    return list(wanted)


@contextmanager
def _varied(engine: LocalEngine, name: str) -> Iterator[None]:
    from reference.variants.bank import find  # noqa: PLC0415
    from reference.variants.loaded import varied  # noqa: PLC0415

    weights: Any = engine.weights
    with varied(weights.model, find(name)):
        yield
