"""Border prompts: golden is nearly undecided about the first token, faithful engines agree on it, degraded ones do not.

All offline: one forward per prompt and engine. Quantisation error is a fixed deviation of the weights, so prompts that
a predicted variant answers otherwise are answered otherwise by a server that serves it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from monitor.ports import Floats, Ints, Scorer, ScoreTask

NOISES = 4.0
"""A tie is decided when its gap is so many standard deviations of the difference between faithful engines."""

LEAST_GAP_NATS = 0.3
"""Smallest gap of a border prompt: servers of 8 bit compute in int8 too, which no variant of weights predicts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ties:
    """Golden's first tokens: ``tokens`` (n,) the most likely, ``gaps`` (n,) its lead over the second, nats."""

    tokens: Ints
    gaps: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class BorderPrompt:
    """One chosen prompt: its index, golden's lead in nats, and the variants that begin otherwise."""

    index: int
    gap_nats: float
    flipped_by: tuple[str, ...]


def first_tokens(golden: Scorer, prompts: Sequence[Sequence[int]]) -> Ties:
    """Read all `prompts` (token ids) once. Raises GoldenError when the engine cannot."""
    tasks = [ScoreTask(prompt_ids=tuple(ids), completion_ids=(0,)) for ids in prompts]
    scores = golden.score(tasks, top_k=2)
    return Ties(
        tokens=np.array([int(one.top_ids[0, 0]) for one in scores], dtype=np.int64),
        gaps=np.array([float(one.top_logprobs[0, 0] - one.top_logprobs[0, 1]) for one in scores]),
    )


def leads(engine: Scorer, prompts: Sequence[Sequence[int]], tokens: Ints) -> Floats:
    """Return the lead of each of `tokens` over the best other first token, nats; negative where it is not first."""
    pairs = zip(prompts, tokens.tolist(), strict=True)
    tasks = [ScoreTask(prompt_ids=tuple(ids), completion_ids=(token,)) for ids, token in pairs]
    found = []
    for score, token in zip(engine.score(tasks, top_k=2), tokens.tolist(), strict=True):
        is_first = int(score.top_ids[0, 0]) == token
        found.append(float(score.logprob[0] - score.top_logprobs[0, 1 if is_first else 0]))
    return np.array(found)


def engine_noise(gaps: Floats, faithful: Mapping[str, Floats]) -> float:
    """Return the standard deviation of a lead between faithful engines, nats: the largest over `faithful`."""
    return max((float(np.sqrt(np.mean(np.square(lead - gaps)))) for lead in faithful.values()), default=0.0)


def choose(
    gaps: Floats, faithful: Mapping[str, Floats], degraded: Mapping[str, Floats], *, n: int, least_nats: float
) -> list[BorderPrompt]:
    """Choose up to `n` prompts that most of `degraded` begin otherwise, the most telling first.

    Parameters
    ----------
    gaps
        Golden's leads, shape (prompts,).
    faithful, degraded
        Leads of golden's token by engine or variant, each of shape (prompts,).
    least_nats
        Lead that golden and every faithful member must have.
    """
    safe = np.min(np.stack([gaps, *faithful.values()]), axis=0)
    flips = np.stack([lead < 0 for lead in degraded.values()])
    votes: NDArray[np.int64] = flips.sum(axis=0)
    usable = np.flatnonzero((safe >= least_nats) & (votes * 2 > len(degraded)))
    # Of equally telling ones the widest lead first: what flips it is no accident.
    order = sorted(usable.tolist(), key=lambda at: (-int(votes[at]), -float(safe[at])))
    names = list(degraded)
    return [
        BorderPrompt(
            index=at, gap_nats=float(gaps[at]),
            flipped_by=tuple(name for name, flipped in zip(names, flips[:, at], strict=True) if flipped),
        )
        for at in order[:n]
    ]  # fmt: skip


def faithful_rate(gaps: Floats, noise: float) -> float:
    """Return the share of prompts with these `gaps` that a faithful engine flips, were its noise normal."""
    if noise == 0:
        return 0.0
    return float(norm.sf(np.asarray(gaps) / noise).mean())
