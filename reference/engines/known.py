"""Scores out of what is known of the golden distribution at each position: perhaps only its most likely tokens.

What is not known is NaN (id and rank: -1), never a guess. Who reads the scores leaves those values out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan

import numpy as np

from monitor.ports import Floats, Ints, Scores, ScoreTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known at one position.

    ``top`` are (id, logprob) of the most likely tokens without a gap, most likely first; ``others`` logprobs of more
    tokens by id; ``rank`` that of the given token, ``entropy_nats`` that of the whole distribution, None when unknown.
    """

    top: Sequence[tuple[int, float]] = ()
    others: Mapping[int, float] = field(default_factory=dict)
    rank: int | None = None
    entropy_nats: float | None = None

    def logprobs(self) -> dict[int, float]:
        """All known logprobs by token id."""
        return {**self.others, **dict(self.top)}

    def rank_of(self, token_id: int) -> int | None:
        """Rank of the given token: as it was told, else its place among the most likely."""
        if self.rank is not None:
            return self.rank
        value = dict(self.top).get(token_id)
        return None if value is None else sum(other > value for _, other in self.top)


NOTHING = Known()
"""A position of which nothing is known."""


def scores_of(task: ScoreTask, positions: Sequence[Known], *, top_k: int) -> Scores:
    """Return the scores of `task`, one `Known` per token of its answer."""
    logprobs = [known.logprobs() for known in positions]
    ranks = [known.rank_of(token) for known, token in zip(positions, task.completion_ids, strict=True)]
    entropies = [nan if known.entropy_nats is None else known.entropy_nats for known in positions]
    top_ids, top_logprobs = _top(positions, top_k)
    return Scores(
        logprob=np.array([at.get(token, nan) for at, token in zip(logprobs, task.completion_ids, strict=True)]),
        rank=np.array([-1 if rank is None else rank for rank in ranks], dtype=np.int64),
        entropy_nats=np.array(entropies),
        top_ids=top_ids,
        top_logprobs=top_logprobs,
        gathered=tuple(
            np.array([at.get(token, nan) for token in wanted])
            for at, wanted in zip(logprobs, task.gather, strict=bool(task.gather))
        ),
    )


def _top(positions: Sequence[Known], top_k: int) -> tuple[Ints, Floats]:
    ids = np.full((len(positions), top_k), -1, dtype=np.int64)
    logprobs = np.full((len(positions), top_k), nan)
    for at, known in enumerate(positions):
        for place, (token, value) in enumerate(known.top[:top_k]):
            ids[at, place], logprobs[at, place] = token, value
    return ids, logprobs
