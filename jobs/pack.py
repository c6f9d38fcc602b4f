"""``weighmaster reference pack``: records what the golden weights answer to the probes, for who has no weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from jobs.clock import SystemClock
from jobs.out_file import require_writable
from jobs.pack_file import write_pack
from jobs.pack_signature import public_key
from jobs.references import load_torch
from jobs.settings import catalogues
from jobs.still_working import telling
from jobs.version import version
from monitor.config_types import ReferenceConfig
from monitor.errors import UsageError
from monitor.types import Request
from reference.engines.local import LocalEngine
from reference.pack_making import record
from reference.pack_triggers import known_family
from reference.tool_parsers.families import family_of

SEED = 20260101
MORE: Mapping[str, Mapping[str, Any]] = {"greedy": {"prompts": 40}}
"""More than a probe asks in one run: an audit names a fault in the weights after 32 answers."""


def make(
    golden: Callable[[], Path], out: Path, *, device: str, dtype: str, template: Mapping[str, Any], top_k: int,
    n_samples: int, sample_tokens: int, variants: Sequence[str], report: Callable[[str], None],
    kinds: Sequence[str] = ("logprobs",), model: str | None = None, family: str | None = None,
    key: Ed25519PrivateKey | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Record the prompts of probes with golden weights; return file, hash and counts.

    Parameters
    ----------
    golden : Callable
        Returns the golden folder; called only when nothing else is wrong, because making one takes minutes.
    out : Path
        The file to write.
    device, dtype, template, top_k, n_samples, sample_tokens, report
        As in `reference.pack_making.record`.
    variants : Sequence
        Names of variants that change weights only; ``all`` means all of them.
    kinds : Sequence
        Probes whose prompts are recorded.
    model : str, optional
        The name by which the pack is chosen among several; the folder's when None.
    family : str, optional
        How the model writes tool calls; told by `model` when None.
    key : Ed25519PrivateKey, optional
        Signs the pack.

    Raises
    ------
    GoldenError
        When the weights cannot be used.
    UsageError
        When a probe, variant or family is unknown, or a variant changes something other than weights.
    """
    names, requests = check(out, variants=variants, kinds=kinds, family=family)
    folder = golden()
    model = model or folder.resolve().name
    report(f"loading {folder}")
    # Checked as the configuration would: device and dtype are refused by the engine itself.
    reference = ReferenceConfig(path=str(folder), device=device, dtype=dtype, template=dict(template))  # type: ignore[arg-type]
    engine = load_torch(reference)
    assert isinstance(engine, LocalEngine)  # noqa: S101  # the only kind that load_torch makes
    known: Mapping[str, Any] = catalogues(detectors=False).probes
    about = {"made_by": f"weighmaster {version()}", "probes": {kind: known[kind].version for kind in kinds},
             "seed": SEED, "variants": names}  # fmt: skip
    try:
        with telling(report) as told:
            pack = record(
                engine, requests, folder=folder, created_at=SystemClock().now(), about=about, template=template,
                top_k=top_k, n_samples=n_samples, sample_tokens=sample_tokens, seed=SEED, variants=names,
                varied=lambda name: _varied(engine, name), report=told, model=model,
                family=family or family_of(model),
            )  # fmt: skip
    finally:
        engine.close()
    sha256 = write_pack(pack, out, key=key)
    rows = {name: len(getattr(pack, name)) for name in ("prompts", "positions", "samples", "deviations", "triggers")}
    return {"file": str(out), "sha256": sha256, "bytes": out.stat().st_size, "fingerprint": pack.fingerprint.digest,
            "model": model, "signer": None if key is None else public_key(key), **rows}  # fmt: skip


def check(
    out: Path, *, variants: Sequence[str], kinds: Sequence[str], family: str | None
) -> tuple[list[str], tuple[Request, ...]]:
    """Return names of variants and requests, after looking at everything that can be wrong before weights are there.

    Raises
    ------
    UsageError
        As `make`, and when `out` cannot be written.
    """
    require_writable(out)
    if family is not None:
        known_family(family)
    requests = asked(kinds)
    if not variants:
        return [], requests
    from reference.variants.bank import weights_only  # noqa: PLC0415  # seconds to import

    return weights_only(variants), requests


def asked(kinds: Sequence[str]) -> tuple[Request, ...]:
    """What is recorded: the requests of the probes `kinds`, each with as long an answer as its probe wants at most.

    Raises
    ------
    UsageError
        When there is no such probe.
    """
    known = catalogues(detectors=False).probes
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        raise UsageError(f"no probe of kind {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    requests: list[Request] = []
    for kind in kinds:
        one = known[kind](**MORE.get(kind, {})).requests(SEED)
        longest = max(request.max_tokens for request in one)
        requests += [replace(request, max_tokens=longest) for request in one]
    return tuple(requests)


@contextmanager
def _varied(engine: LocalEngine, name: str) -> Iterator[None]:
    from reference.variants.bank import find  # noqa: PLC0415
    from reference.variants.loaded import varied  # noqa: PLC0415

    weights: Any = engine.weights
    with varied(weights.model, find(name)):
        yield
