"""Predictions out of a pack: the deviations that were recorded with it. No weights, no torch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from monitor.ports import Floats, ScoreTask
from reference.engines.pack import PackEngine


class PackPredictions:
    """What a pack says of variants (port `monitor.ports.Predictor`).

    It knows the places along its own greedy answers, and there the deviations of golden's most likely tokens.
    """

    def __init__(self, engine: PackEngine) -> None:
        pack = engine.pack
        self.variants = tuple(dict.fromkeys(one.variant for one in pack.deviations))
        self._known: dict[tuple[str, tuple[int, ...], tuple[int, ...]], dict[int, float]] = {}
        tops = {
            (one.prompt, len(one.path)): (one.path, one.top_ids, one.top_logprobs) for one in pack.positions
        }  # fmt: skip
        for one in pack.deviations:
            path, ids, logprobs = tops[one.prompt, one.position]
            said = (np.asarray(logprobs)[: len(one.deviation)] + np.asarray(one.deviation)).tolist()
            key = (one.variant, pack.prompts[one.prompt].ids, path)
            self._known[key] = dict(zip(map(int, ids), said, strict=False))

    def predict(
        self, tasks: Sequence[ScoreTask], variants: Sequence[str], *,
        conversations: Sequence[Sequence[Mapping[str, Any]]] = (),
    ) -> dict[str, list[tuple[Floats, ...]]]:  # fmt: skip
        """Return the recorded logprobs of the tokens in ``gather``, NaN for those that were not recorded."""
        del conversations
        return {
            name: [tuple(self._row(name, task, t) for t in range(len(task.gather))) for task in tasks]
            for name in variants if name in self.variants
        }  # fmt: skip

    def _row(self, variant: str, task: ScoreTask, t: int) -> Floats:
        known = self._known.get((variant, task.prompt_ids, task.completion_ids[:t]), {})
        return np.array([known.get(token, np.nan) for token in task.gather[t]], dtype=np.float64)
