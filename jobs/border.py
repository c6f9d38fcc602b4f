"""``weighmaster reference border``: mines border prompts and writes the configuration of their probe."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

from jobs.golden import ensure_golden
from jobs.out_file import require_writable
from jobs.still_working import telling
from jobs.terminal import show, show_document
from monitor.codec import plain
from monitor.errors import GoldenError, UsageError
from monitor.ports import Floats, Ints
from probes.prompt_pool import SUBJECTS, TASKS, pool_prompts
from reference.border import (
    LEAST_GAP_NATS,
    NOISES,
    BorderPrompt,
    choose,
    engine_noise,
    faithful_rate,
    first_tokens,
    leads,
)  # fmt: skip
from reference.variants.bank import find, weights_only
from reference.variants.loaded import varied

ENDINGS = (
    "", " Answer in one sentence.", " Be brief.", " Use plain words.", " Start at once, without a greeting.",
)  # fmt: skip
"""What is put behind each prompt of the pool: other wording, another first token."""

DEGRADED = ("Q4_0", "Q5_0", "int4-g64", "nf4")
"""Predicted variants that border prompts are to catch."""

FAITHFUL = ("Q8_0", "int8-g64")
"""Predicted variants that they are not to catch: 8 bit, which many endpoints declare."""

WIDEST_NATS = 1.0
"""Leads above this are no ties: 4 bit hardly ever turns them."""

TIES = 12
"""Near ties to read with every variant, per wanted prompt: about one in twelve is wanted."""

_LEAST_RATE = 0.01
_UNSEEN = 0.5
"""Share of the predicted flips that a scheme which was not predicted is expected to show, at least."""


def run(
    home: Path, folder: Path | None, *, n: int, degraded: Sequence[str], faithful: Sequence[str], device: str,
    out: Path, as_json: bool,
) -> int:  # fmt: skip
    """Mine `n` border prompts of the golden `folder` (None: the packaged one), print a table and write `out` (YAML).

    Raises
    ------
    UsageError
        When a variant is unknown or changes more than weights, none is to be caught, or `out` cannot be written.
    GoldenError
        When the golden weights cannot be used, no prompt is a border prompt, or one of `degraded` turns hardly any.
    """
    require_writable(out)
    if not weights_only(degraded):
        raise UsageError("--variants names no variant to catch; leave it out for the usual ones")
    weights_only(faithful)
    console = Console(stderr=True, highlight=False)
    with telling(lambda line: console.print(line, markup=False, soft_wrap=True)) as report:
        found = _mined(home, folder, n=n, degraded=degraded, faithful=faithful, device=device, report=report)
    out.write_text(_yaml(found), "utf-8")
    console.print(f"written: {out}", markup=False, soft_wrap=True)
    if as_json:
        show_document(plain(found))
    else:
        show(_table(found))
    return 0


def _mined(
    home: Path, folder: Path | None, *, n: int, degraded: Sequence[str], faithful: Sequence[str], device: str,
    report: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    golden = folder or ensure_golden(home, report)
    engine = _engine(golden, device)
    try:
        return _mined_with(engine, golden, n=n, degraded=degraded, faithful=faithful, device=device, report=report)
    finally:
        engine.close()


def _mined_with(
    engine: Any, golden: Path, *, n: int, degraded: Sequence[str], faithful: Sequence[str], device: str,
    report: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    texts, some, tokens, gaps = _near_ties(engine, n * TIES, report)

    def by_variant(names: Sequence[str]) -> dict[str, Floats]:
        found = {}
        for name in names:
            report(f"reading {len(some)} near ties as {name}")
            with _varied(engine, name):
                found[name] = leads(engine, some, tokens)
        return found

    half = {"torch bf16": _with_bf16(golden, device, some, tokens, report)}
    noise = engine_noise(gaps, half)
    report(f"leads differ by {noise:.2g} nats between fp32 and bf16 (standard deviation)")
    kept = half | by_variant(faithful)
    flips = by_variant(degraded)
    chosen = choose(gaps, kept, flips, n=n, least_nats=max(LEAST_GAP_NATS, NOISES * noise))
    if not chosen:
        caught = ", ".join(degraded)
        raise GoldenError(f"none of {len(texts)} near ties is a border prompt for {caught}; name other --variants")
    own = [texts[one.index] for one in chosen]
    return _result(chosen, own, kept, flips, {"golden": engine.fingerprint.digest, "noise_nats": noise})


def _near_ties(engine: Any, n: int, report: Callable[[str], None]) -> tuple[list[str], list[list[int]], Ints, Floats]:
    """Texts, token ids, golden's first tokens and leads of the first `n` near ties, ending after ending."""
    texts, prompts, tokens, gaps = [], [], [], []
    for ending in ENDINGS:
        new = [f"{messages[0]['content']}{ending}" for messages in pool_prompts(len(SUBJECTS) * len(TASKS), 0).values()]
        ids = [engine.tokenizer.prompt_ids(({"role": "user", "content": text},)) for text in new]
        report(f"reading {len(ids)} prompts")
        ties = first_tokens(engine, ids)
        for at in np.flatnonzero((ties.gaps >= LEAST_GAP_NATS) & (ties.gaps < WIDEST_NATS)).tolist():
            texts.append(new[at])
            prompts.append(ids[at])
            tokens.append(int(ties.tokens[at]))
            gaps.append(float(ties.gaps[at]))
        if len(texts) >= n:
            break
    return texts[:n], prompts[:n], np.array(tokens[:n], dtype=np.int64), np.array(gaps[:n])


def _engine(golden: Path, device: str, **options: Any) -> Any:
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

    # One thread: with more than there are idle cores, torch's barriers cost up to 18 times (measured).
    return TorchEngine.load(golden, device=device, threads=1, **options)


@contextmanager
def _varied(engine: Any, name: str) -> Iterator[None]:
    with varied(engine.weights.model, find(name)):
        yield


def _with_bf16(golden: Path, device: str, prompts: list[Any], tokens: Any, report: Callable[[str], None]) -> Floats:
    report(f"reading {len(prompts)} near ties in bf16")
    half = _engine(golden, device, dtype="bfloat16")
    try:
        return leads(half, prompts, tokens)
    finally:
        half.close()


def _result(
    chosen: Sequence[BorderPrompt], texts: Sequence[str], faithful: Mapping[str, Floats],
    degraded: Mapping[str, Floats], about: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    rows = np.array([one.index for one in chosen])
    shares = {name: float((lead[rows] < 0).mean()) for name, lead in {**faithful, **degraded}.items()}
    gaps = np.array([one.gap_nats for one in chosen])
    p0 = max(_LEAST_RATE, round(faithful_rate(gaps, about["noise_nats"]), 3))
    return {
        **about, "n": len(chosen), "p0": p0, "degraded": _caught({name: shares[name] for name in degraded}, p0),
        "flips": [
            {"variant": name, "faithful": name in faithful, "share": share} for name, share in shares.items()
        ],
        "prompts": [
            {"text": text, "gap_nats": one.gap_nats, "flipped_by": one.flipped_by}
            for one, text in zip(chosen, texts, strict=True)
        ],
    }  # fmt: skip


def _caught(shares: Mapping[str, float], p0: float) -> float:
    """The share of flips to expect of degraded weights; must exceed `p0`, or the configuration would be refused."""
    mildest = min(shares, key=shares.__getitem__)
    share = round(_UNSEEN * shares[mildest], 2)
    if share <= p0:
        raise GoldenError(
            f"{mildest} turns {shares[mildest]:.0%} of the border prompts, no more than faithful engines may: "
            "leave it out of --variants, or mine prompts for it alone"
        )
    return share


def _yaml(found: dict[str, Any]) -> str:
    """The sections of a configuration. JSON strings are YAML strings."""
    lines = [
        f"# {found['n']} border prompts of golden weights {found['golden']}; put this into weighmaster.yaml.",
        "# Wanted flips by variant: "
        + ", ".join(f"{row['variant']} {row['share']:.0%}" for row in found["flips"] if not row["faithful"]),
        "probes:",
        "  - kind: border",
        "    every: 1h",
        "    prompts:",
        *(f"      - {orjson.dumps(row['text']).decode()}" for row in found["prompts"]),
        "detectors:",
        f"  border: {{p0: {found['p0']}, degraded: {found['degraded']}}}",
    ]
    return "\n".join(lines) + "\n"


def _table(found: dict[str, Any]) -> Table:
    table = Table(title=f"{found['n']} border prompts", title_justify="left")
    for column in ("variant", "ensemble", "flips"):
        table.add_column(column)
    for row in found["flips"]:
        kind = "faithful" if row["faithful"] else "degraded"
        table.add_row(row["variant"], kind, f"{round(row['share'] * found['n'])} of {found['n']}")
    return table
