"""Endpoints that serve decoys: schemes with blocks of other weights, which an identification must not name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.identify_records import N_PROMPTS, TOP_K
from benchmarks.identify_served import Golden, Served
from monitor.ports import ScoreTask
from probes.identify import Identify as Probe
from probes.prompt_pool import pool_prompts
from probes.prompts import Conversation
from reference.decoy import Decoy
from reference.predictions import is_predictable
from reference.variant_engines import VariantEngines
from reference.variants.bank import bank, find

DECOYS = ("Q4_0", "Q5_0", "int4-g64", "Q8_0")
_KNOWN = 100  # of golden's likeliest tokens: what a decoy lists beyond would have to be predicted token by token


def decoys(golden: Golden) -> list[Served]:
    """Return what the golden engine answers with the decoys of four schemes; computed once and kept.

    Of the 20 tokens that a decoy lists, those among golden's first 100.
    """
    prompts = pool_prompts(N_PROMPTS, Probe().order)
    heads = [tuple(golden.scorer.tokenizer.prompt_ids(one)) for one in prompts.values()]
    tasks = [ScoreTask(prompt_ids=head, completion_ids=(0,), gather=((),)) for head in heads]
    own = [
        dict(zip(one.top_ids[0].tolist(), one.top_logprobs[0].tolist(), strict=True))
        for one in golden.scorer.score(tasks, top_k=_KNOWN)
    ]
    return [_decoy(golden, name, tasks, own, prompts) for name in DECOYS]


def _decoy(
    golden: Golden, name: str, tasks: Sequence[ScoreTask], own: Sequence[Mapping[int, float]],
    prompts: Mapping[str, Conversation],
) -> Served:  # fmt: skip
    ids, served = _answers(golden, name, tasks)
    kept = [
        [at for at, token in enumerate(row.tolist()) if token in known] for row, known in zip(ids, own, strict=True)
    ]
    wanted = [
        replace(task, gather=(tuple(row[some].tolist()),)) for task, row, some in zip(tasks, ids, kept, strict=True)
    ]
    names = [one for one, variant in bank().items() if is_predictable(variant)]
    found = golden.predictor.predict(wanted, names, conversations=list(prompts.values()))
    return Served(
        name=f"{name} decoy", endpoint=[row[some] for row, some in zip(served, kept, strict=True)],
        golden=[np.array([known[token] for token in task.gather[0]]) for task, known in zip(wanted, own, strict=True)],
        prompts=list(prompts), predicted={one: [rows[0] for rows in answers] for one, answers in found.items()},
    )  # fmt: skip


def _answers(
    golden: Golden, name: str, tasks: Sequence[ScoreTask]
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int64]], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """The likeliest tokens of the decoy and their logprobs (prompts, k)."""
    path: Path = golden.home / "identify" / golden.digest / f"decoy-{name}.npz"
    if not path.exists():
        golden.note(f"computing the decoy of {name}")
        with VariantEngines(golden.folder, golden.load) as engines, engines.of(Decoy(of=find(name))) as engine:
            scores = engine.score(tasks, top_k=TOP_K)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, ids=np.stack([one.top_ids[0] for one in scores]),
                 logprobs=np.stack([one.top_logprobs[0] for one in scores]))  # fmt: skip
    kept = np.load(path)
    return kept["ids"], kept["logprobs"].astype(np.float64)
