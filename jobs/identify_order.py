"""In which order `identify` asks the prompts of the pool: those first that tell the most alike variants apart."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from jobs.out_file import replace_file
from monitor.codec import decode, encode
from monitor.ports import Predictor, Scorer, ScoreTask
from monitor.stats.design import design
from probes.prompt_pool import pool_prompts

CANDIDATES = 160
"""Prompts that are looked at."""

HARDEST = ("Q8_0", "int8", "fp8-channel")
"""Variants that deviate least from golden weights: the others are told apart wherever these are."""

_LISTED = 20


def ordered(
    scorer: Scorer, predictor: Predictor, names: Sequence[str], path: Path, *, order: int,
    report: Callable[[str], None],
) -> tuple[str, ...]:  # fmt: skip
    """Return names of prompts of the pool in the order in which to ask, from the file `path` if it knows.

    `names` are the variants that can be predicted, `order` is the seed of the pool's own order. Computed once per
    golden fingerprint, schemes and seed: golden weights and up to three variants read 160 prompts. Empty where none of
    the hardest variants can be predicted.
    """
    from reference.prediction_store import schemes_digest  # noqa: PLC0415

    chosen = [name for name in HARDEST if name in names]
    key = f"{schemes_digest()}#{order}#{','.join(chosen)}"
    known = _known(path)
    if not chosen or key in known:
        return known.get(key, ())
    report(f"choosing among {CANDIDATES} prompts, once: golden weights read them")
    found = _computed(scorer, predictor, chosen, order)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, encode({**known, key: found}))
    return found


def _known(path: Path) -> dict[str, tuple[str, ...]]:
    """The orders in the file; a damaged one is computed again."""
    try:
        return decode(dict[str, tuple[str, ...]], path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}


def _computed(scorer: Scorer, predictor: Predictor, chosen: Sequence[str], order: int) -> tuple[str, ...]:
    from reference.variants.bank import find  # noqa: PLC0415

    prompts = pool_prompts(CANDIDATES, order)
    bare = [
        ScoreTask(prompt_ids=tuple(scorer.tokenizer.prompt_ids(one)), completion_ids=(0,), gather=((),))
        for one in prompts.values()
    ]
    scores = scorer.score(bare, top_k=_LISTED)
    tasks = [
        ScoreTask(prompt_ids=task.prompt_ids, completion_ids=task.completion_ids,
                  gather=(tuple(map(int, score.top_ids[0])),))
        for task, score in zip(bare, scores, strict=True)
    ]  # fmt: skip
    found = predictor.predict(tasks, chosen, conversations=list(prompts.values()))
    golden = [np.asarray(score.top_logprobs[0], dtype=np.float64) for score in scores]
    deviations = {
        name: [row - gold for (row,), gold in zip(answers, golden, strict=True)] for name, answers in found.items()
    }
    names = list(prompts)
    return tuple(names[at] for at in design(deviations, {name: find(name).family for name in chosen}))
