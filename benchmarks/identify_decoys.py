"""Endpoints that serve decoys: schemes with blocks of other weights, which an identification must not name."""

from pathlib import Path

import numpy as np

from benchmarks.identify_records import N_PROMPTS, TOP_K
from benchmarks.identify_served import Golden, Served
from monitor.ports import ScoreTask
from probes.identify import Identify as Probe
from probes.prompt_pool import pool_prompts
from reference.decoy import Decoy
from reference.predictions import is_predictable
from reference.variant_engines import VariantEngines
from reference.variants.bank import bank, find

DECOYS = ("Q4_0", "Q5_0", "int4-g64", "Q8_0")


def decoy(golden: Golden, name: str) -> Served:
    """Return what the golden engine answers with the decoy of the scheme `name`; computed once and kept."""
    prompts = pool_prompts(N_PROMPTS, Probe().order)
    heads = [tuple(golden.scorer.tokenizer.prompt_ids(one)) for one in prompts.values()]
    ids, served = _answers(golden, name, heads)
    tasks = [
        ScoreTask(prompt_ids=head, completion_ids=(0,), gather=(tuple(map(int, row)),))
        for head, row in zip(heads, ids, strict=True)
    ]
    names = [one for one, variant in bank().items() if is_predictable(variant)]
    found = golden.predictor.predict(tasks, names, conversations=list(prompts.values()))
    own = golden.scorer.score(tasks)
    return Served(
        name=f"{name} decoy", endpoint=list(served), golden=[np.asarray(one.gathered[0]) for one in own],
        prompts=list(prompts), predicted={one: [rows[0] for rows in answers] for one, answers in found.items()},
    )  # fmt: skip


def _answers(
    golden: Golden, name: str, heads: list[tuple[int, ...]]
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int64]], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """The likeliest tokens of the decoy and their logprobs (prompts, k)."""
    path: Path = golden.home / "identify" / golden.digest / f"decoy-{name}.npz"
    if not path.exists():
        golden.note(f"computing the decoy of {name}")
        tasks = [ScoreTask(prompt_ids=head, completion_ids=(0,), gather=((),)) for head in heads]
        with VariantEngines(golden.folder, golden.load) as engines, engines.of(Decoy(of=find(name))) as engine:
            scores = engine.score(tasks, top_k=TOP_K)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, ids=np.stack([one.top_ids[0] for one in scores]),
                 logprobs=np.stack([one.top_logprobs[0] for one in scores]))  # fmt: skip
    kept = np.load(path)
    return kept["ids"], kept["logprobs"].astype(np.float64)
