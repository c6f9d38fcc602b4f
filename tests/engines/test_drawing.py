"""Answers drawn many at a time against the same answers drawn one by one."""

from pathlib import Path

import numpy as np
import pytest
import transformers
from scipy import stats

from monitor.errors import GoldenError
from monitor.ports import ScoreTask
from reference.engine import TorchEngine
from reference.generate import _Draft, _draw_alone
from tests.reference.tiny import CONTEXT, EOS, save_tiny

PROMPTS = [(5, 9, 200, 41), (7,) * 30, (5, 9, 200, 42, 11)]


def test_batches_draw_what_is_drawn_alone(tiny_engine: TorchEngine) -> None:
    together = tiny_engine.sample(PROMPTS, n=4, max_tokens=9, seed=3)
    for at, prompt in enumerate(PROMPTS):
        for which in range(4):
            rng = np.random.default_rng((3, at, which))
            draft = _Draft(prompt_ids=prompt, room=9, rng=rng, eos_ids={EOS})
            _draw_alone(tiny_engine.weights, draft, 1.0, 1.0)
            one = together[at][which]
            assert [step.token_id for step in one.steps] == [step.token_id for step in draft.steps]
            assert one.finish == ("stop" if one.steps[-1].token_id == EOS else "length")


def test_logprobs_of_drawn_tokens_are_their_scores(tiny_engine: TorchEngine) -> None:
    answers = [answer for row in tiny_engine.sample(PROMPTS, n=3, max_tokens=8, seed=1) for answer in row]
    tasks = [
        ScoreTask(prompt_ids=one.prompt_ids, completion_ids=tuple(step.token_id for step in one.steps))
        for one in answers
    ]
    for one, scores in zip(answers, tiny_engine.score(tasks), strict=True):
        np.testing.assert_allclose([step.logprob for step in one.steps], scores.logprob, atol=2e-5)


def test_first_tokens_follow_the_golden_distribution(tiny_engine: TorchEngine) -> None:
    """Chi-square over the tokens with enough mass, the others together."""
    (answers,) = tiny_engine.sample([PROMPTS[0]], n=600, max_tokens=1, seed=8)
    (scores,) = tiny_engine.score([ScoreTask(prompt_ids=PROMPTS[0], completion_ids=(1,))], top_k=12)
    frequent = [int(x) for x in scores.top_ids[0]]
    mass = np.exp(scores.top_logprobs[0])
    drawn = [answer.steps[0].token_id for answer in answers]
    observed = [drawn.count(x) for x in frequent]
    observed.append(len(drawn) - sum(observed))
    expected = np.append(mass, 1 - mass.sum()) * len(drawn)
    enough = expected >= 5
    table = np.array([*np.array(observed)[enough], np.array(observed)[~enough].sum()])
    wanted = np.array([*expected[enough], expected[~enough].sum()])
    keep = wanted > 0
    assert stats.chisquare(table[keep], wanted[keep]).pvalue > 0.001


def test_seeds_decide(tiny_engine: TorchEngine) -> None:
    once, again, other = (tiny_engine.sample(PROMPTS, n=2, max_tokens=6, seed=seed) for seed in (1, 1, 2))
    assert once == again
    assert once != other


def test_one_token_prompts_and_models_that_cannot_share_are_drawn_one_by_one(tmp_path: Path) -> None:
    config = transformers.MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, eos_token_id=2)
    mamba = TorchEngine.load(save_tiny(tmp_path / "mamba", config=config), device="cpu")
    for prompts in ([(7, 8)], [(7,)]):
        (answers,) = mamba.sample(prompts, n=2, max_tokens=4, seed=0)
        assert all(1 <= len(answer.steps) <= 4 for answer in answers)


def test_the_context_ends_an_answer(tiny_engine: TorchEngine) -> None:
    ((answer,),) = tiny_engine.sample([(7,) * (CONTEXT - 2)], n=1, max_tokens=50, seed=0)
    assert len(answer.steps) <= 3
    with pytest.raises(GoldenError, match="context"):
        tiny_engine.sample([(7,) * (CONTEXT + 1)], n=1, max_tokens=5, seed=0)
