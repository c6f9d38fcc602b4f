"""Answers drawn many at a time against the same answers drawn one by one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from scipy import stats

from monitor.errors import GoldenError
from monitor.ports import Floats, ScoreTask
from monitor.types import Request
from reference.engine import TorchEngine
from reference.generate import _Draft, _draw_alone
from reference.torch_weights import TorchWeights
from tests.reference.tiny import CONTEXT, EOS, save_tiny

PROMPTS = [(5, 9, 200, 41), (7,) * 30, (5, 9, 200, 42, 11)]


def test_batches_draw_what_is_drawn_alone(tiny_engine: TorchEngine) -> None:
    together = tiny_engine.sample(PROMPTS, n=4, max_tokens=9, seed=3)
    for at, prompt in enumerate(PROMPTS):
        for which in range(4):
            draft = _Draft(prompt_ids=prompt, room=9, seed=(3, at, which), eos_ids={EOS})
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


def test_answers_beyond_the_memory_are_begun_again_in_halves(
    tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory for two answers, which runs out at the fourth token: what was drawn by then must not change the rest."""
    expected = tiny_engine.sample(PROMPTS, n=3, max_tokens=9, seed=3)
    step, sizes = TorchWeights.step, []

    def small(self: TorchWeights, ids: Sequence[int], rows: Any) -> Floats:
        sizes.append(len(ids))
        first = rows.__dict__.setdefault("first", rows.width)
        if len(ids) > 2 and rows.width - first >= 3:
            raise MemoryError("CUDA out of memory")
        return step(self, ids, rows)

    monkeypatch.setattr(TorchWeights, "step", small)
    found = tiny_engine.sample(PROMPTS, n=3, max_tokens=9, seed=3)
    ids = [[[one.token_id for one in answer.steps] for answer in row] for row in found]
    assert ids == [[[one.token_id for one in answer.steps] for answer in row] for row in expected]
    assert sizes[0] == 9
    assert sizes[-1] <= 2


async def test_one_answer_beyond_the_memory_is_an_error(
    tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError("CUDA out of memory")

    monkeypatch.setattr(TorchWeights, "step", no_memory)
    monkeypatch.setattr(TorchWeights, "read", no_memory)
    with pytest.raises(GoldenError, match="memory of the device"):
        tiny_engine.sample(PROMPTS, n=2, max_tokens=3, seed=0)
    with pytest.raises(GoldenError, match="memory of the device"):
        await tiny_engine.send(Request(prompt_id="p", messages=({"role": "user", "content": "boats"},), max_tokens=2))


def test_nan_is_an_error_when_drawing_too(tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hidden state of NaN, as of weights that overflow in float16, must not become an answer."""
    norm: Any = tiny_engine.weights.model.model.norm
    monkeypatch.setattr(norm, "forward", lambda states: states * float("nan"))
    with pytest.raises(GoldenError, match="NaN"):
        tiny_engine.sample([PROMPTS[0]], n=1, max_tokens=1, seed=0)
