"""Mining of border prompts with the fake golden side: leads follow from known logits, so choices can be computed."""

from collections.abc import Sequence

import numpy as np
import pytest

from monitor.ports import Scores, ScoreTask
from reference.border import choose, engine_noise, faithful_rate, first_tokens, leads
from tests.fakes.golden import FakeScorer, logprobs_after

PROMPTS = [[65 + at % 26, 40 + at] for at in range(60)]


class Noisy(FakeScorer):
    """The same weights with a fixed deviation."""

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        return [_scores(logprobs_after(list(task.prompt_ids), noise=2.0), task, top_k) for task in tasks]


def _scores(table: np.ndarray, task: ScoreTask, top_k: int) -> Scores:
    order = np.argsort(-table)
    own = table[list(task.completion_ids)]
    return Scores(
        logprob=own, rank=np.array([0]), entropy_nats=np.array([0.0]), top_ids=order[None, :top_k],
        top_logprobs=table[order][None, :top_k], gathered=(),
    )  # fmt: skip


def test_first_tokens_and_gaps_are_those_of_the_logits() -> None:
    """Oracle: sorting the logits."""
    ties = first_tokens(FakeScorer(), PROMPTS)
    for prompt, token, gap in zip(PROMPTS, ties.tokens, ties.gaps, strict=True):
        table = logprobs_after(prompt)
        order = np.argsort(-table)
        assert token == order[0]
        assert gap == pytest.approx(table[order[0]] - table[order[1]])


def test_leads_are_negative_exactly_where_another_token_is_first() -> None:
    """Oracle: the deviating logits themselves."""
    ties = first_tokens(FakeScorer(), PROMPTS)
    found = leads(Noisy(), PROMPTS, ties.tokens)
    for prompt, token, lead in zip(PROMPTS, ties.tokens, found, strict=True):
        table = logprobs_after(prompt, noise=2.0)
        others = np.delete(table, token).max()
        assert lead == pytest.approx(table[token] - others)
    assert (found < 0).any()
    assert leads(FakeScorer(), PROMPTS, ties.tokens) == pytest.approx(ties.gaps)


def test_chosen_prompts_hold_for_the_faithful_and_flip_for_most_degraded() -> None:
    """Oracle: five prompts whose leads are written out; only the first and the last qualify."""
    gaps = np.array([0.5, 0.5, 0.1, 0.5, 0.9])
    faithful = {"bf16": np.array([0.5, -0.1, 0.1, 0.5, 0.8])}
    degraded = {
        "a": np.array([-1, -1, -1, -1, -1.0]), "b": np.array([-1, -1, -1, 1, -1.0]), "c": np.array([1, -1, -1, 1, -1.0])
    }  # fmt: skip
    chosen = choose(gaps, faithful, degraded, n=10, least_nats=0.3)
    assert [one.index for one in chosen] == [4, 0]
    assert chosen[0].flipped_by == ("a", "b", "c")
    assert chosen[1].flipped_by == ("a", "b")
    assert [one.index for one in choose(gaps, faithful, degraded, n=1, least_nats=0.3)] == [4]


def test_noise_and_the_rate_that_follows_from_it() -> None:
    """Oracle: root mean square by hand; a lead of one standard deviation flips with probability .1587."""
    gaps = np.array([1.0, 1.0])
    assert engine_noise(gaps, {"one": np.array([1.3, 0.7]), "two": gaps}) == pytest.approx(0.3)
    assert engine_noise(gaps, {}) == 0.0
    assert faithful_rate(np.array([0.3, 0.3]), 0.3) == pytest.approx(0.158655, abs=1e-6)
    assert faithful_rate(gaps, 0.0) == 0.0
