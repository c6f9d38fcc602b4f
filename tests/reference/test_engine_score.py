"""Scoring against a naive forward of each sequence alone, without padding, batching or slicing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

import reference.torch_weights
from monitor.errors import GoldenError
from monitor.ports import Floats, ScoreTask
from reference.batches import Row, Table
from reference.engine import TorchEngine
from tests.fakes.golden import drawn
from tests.reference.tiny import CONTEXT, save_tiny


def naive_logprobs(folder: Path, task: ScoreTask) -> Floats:
    """Oracle: log-probabilities (T, V) from one plain forward of the whole model."""
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    with torch.inference_mode():
        logits = model(torch.tensor([task.prompt_ids + task.completion_ids])).logits[0].double()
    rows = torch.log_softmax(logits, -1)[len(task.prompt_ids) - 1 : -1]
    found: Floats = rows.numpy()
    return found


def some_tasks(n: int, *, seed: int = 5, n_gather: int = 4) -> list[ScoreTask]:
    rng = np.random.default_rng(seed)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(int(x) for x in rng.integers(0, 290, count))

    sizes = [(int(rng.integers(1, 30)), int(rng.integers(1, 20))) for _ in range(n)]
    return [
        ScoreTask(prompt_ids=ids(p), completion_ids=ids(c), gather=tuple(ids(n_gather + t % 2) for t in range(c)))
        for p, c in sizes
    ]


def assert_agrees(engine: TorchEngine, folder: Path, tasks: Sequence[ScoreTask], tolerance: float) -> None:
    for task, scores in zip(tasks, engine.score(tasks, top_k=7), strict=True):
        oracle = naive_logprobs(folder, task)
        at = np.arange(len(task.completion_ids))
        own = oracle[at, list(task.completion_ids)]
        order = np.argsort(-oracle, axis=1)
        assert_allclose(scores.logprob, own, atol=tolerance)
        assert (scores.rank >= (oracle > own[:, None] + tolerance).sum(1)).all()
        assert (scores.rank < (oracle > own[:, None] - tolerance).sum(1)).all()
        assert_allclose(scores.entropy_nats, -(np.exp(oracle) * oracle).sum(1), atol=tolerance * 10)
        assert_allclose(scores.top_logprobs, np.take_along_axis(oracle, order[:, :7], 1), atol=tolerance)
        for t, (gathered, wanted) in enumerate(zip(scores.gathered, task.gather, strict=True)):
            assert_allclose(gathered, oracle[t, list(wanted)], atol=tolerance)


def test_batched_scores_agree_with_one_plain_forward_per_sequence(tiny_folder: Path) -> None:
    engine = TorchEngine.load(tiny_folder, device="cpu", threads=1, batch_tokens=150)
    assert_agrees(engine, tiny_folder, some_tasks(12), 2e-5)


def test_logits_in_slices_are_the_same(tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = some_tasks(6)
    whole = tiny_engine.score(tasks)
    monkeypatch.setitem(reference.torch_weights._SLICE_BYTES, "cpu", 3 * 4 * 300)
    for one, other in zip(whole, tiny_engine.score(tasks), strict=True):
        assert_allclose(one.logprob, other.logprob, atol=1e-6)
        assert (one.top_ids == other.top_ids).all()


def test_what_an_architecture_does_to_its_logits_is_done(tmp_path: Path) -> None:
    """Gemma 2 caps its logits softly; the oracle is transformers' own whole forward."""
    config = transformers.Gemma2Config(
        vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=96, final_logit_softcapping=2.0,
    )  # fmt: skip
    folder = save_tiny(tmp_path / "gemma", config=config)
    assert_agrees(TorchEngine.load(folder, device="cpu"), folder, some_tasks(4), 5e-5)


def test_a_mixture_of_experts_is_scored(tmp_path: Path) -> None:
    config = transformers.MixtralConfig(
        vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=96, num_local_experts=4, eos_token_id=2,
    )  # fmt: skip
    folder = save_tiny(tmp_path / "mixtral", config=config)
    assert_agrees(TorchEngine.load(folder, device="cpu"), folder, some_tasks(4), 5e-5)


def test_results_come_in_the_order_of_the_tasks_and_repeat_exactly(tiny_engine: TorchEngine) -> None:
    tasks = some_tasks(8)
    forward, backward = tiny_engine.score(tasks), tiny_engine.score(tasks[::-1])[::-1]
    again = tiny_engine.score(tasks)
    for one, other, third in zip(forward, backward, again, strict=True):
        assert_allclose(one.logprob, other.logprob, atol=1e-5)
        assert (one.logprob == third.logprob).all()


def test_a_task_without_an_answer_has_no_positions(tiny_engine: TorchEngine) -> None:
    empty = ScoreTask(prompt_ids=(5,), completion_ids=())
    full = ScoreTask(prompt_ids=(5,), completion_ids=(6, 7))
    scores = tiny_engine.score([empty, full], top_k=3)
    assert [len(one.logprob) for one in scores] == [0, 2]
    assert scores[0].top_ids.shape == (0, 3)
    assert scores[1].gathered == ()


def test_top_k_stops_at_the_vocabulary(tiny_engine: TorchEngine) -> None:
    (scores,) = tiny_engine.score([ScoreTask(prompt_ids=(5,), completion_ids=(6,))], top_k=10_000)
    assert scores.top_logprobs.shape[1] < 400
    assert_allclose(np.exp(scores.top_logprobs).sum(), 1.0, atol=1e-5)


def test_a_batch_that_exceeds_the_memory_is_halved(tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = some_tasks(9)
    expected = tiny_engine.score(tasks)
    sizes: list[int] = []
    score = type(tiny_engine.weights).score

    def small_memory(model: Any, batch: Sequence[Row], top_k: int) -> Table:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise MemoryError("CUDA out of memory")
        return score(model, batch, top_k)

    monkeypatch.setattr(type(tiny_engine.weights), "score", small_memory)
    for one, other in zip(expected, tiny_engine.score(tasks), strict=True):
        assert_allclose(one.logprob, other.logprob, atol=1e-5)
    assert sizes[0] == 9
    assert sum(size for size in sizes if size <= 2) == 9


def test_one_sequence_beyond_the_memory_is_an_error(tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> Table:
        raise MemoryError("CUDA out of memory")

    monkeypatch.setattr(type(tiny_engine.weights), "score", no_memory)
    with pytest.raises(GoldenError, match="memory"):
        tiny_engine.score(some_tasks(3))


def test_nan_is_an_error(tmp_path: Path) -> None:
    engine = TorchEngine.load(save_tiny(tmp_path / "nan"), device="cpu")
    with torch.no_grad():
        next(iter(engine.weights.model.parameters()))[7] = float("nan")
    with pytest.raises(GoldenError, match="NaN"):
        engine.score([ScoreTask(prompt_ids=(7, 8), completion_ids=(9,))])


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (ScoreTask(prompt_ids=(), completion_ids=(1,)), "empty prompt"),
        (ScoreTask(prompt_ids=(1,) * CONTEXT, completion_ids=(1, 1)), f"context of {CONTEXT}"),
        (ScoreTask(prompt_ids=(1,), completion_ids=(10_000,)), "vocabulary"),
        (ScoreTask(prompt_ids=(1,), completion_ids=(1,), gather=((-1,),)), "vocabulary"),
    ],
)
def test_what_cannot_be_asked_is_refused(tiny_engine: TorchEngine, task: ScoreTask, words: str) -> None:
    with pytest.raises(GoldenError, match=words):
        tiny_engine.score([task])


def test_the_whole_context_can_be_scored(tiny_engine: TorchEngine) -> None:
    (scores,) = tiny_engine.score([ScoreTask(prompt_ids=(1,) * CONTEXT, completion_ids=(5,))])
    assert np.isfinite(scores.logprob).all()


def test_progress_is_told_after_each_batch(tiny_folder: Path) -> None:
    told: list[tuple[int, int]] = []
    engine = TorchEngine.load(
        tiny_folder, device="cpu", batch_tokens=60, progress=lambda done, total: told.append((done, total))
    )
    engine.score(some_tasks(5))
    assert told[-1] == (5, 5)
    assert len(told) > 1
    assert told == sorted(told)


def test_drawn_tasks_get_what_tests_of_samplers_need(tiny_folder: Path) -> None:
    """Oracle: the same numbers the plain way, from one plain forward per sequence. Others do not get them."""
    engine = TorchEngine.load(tiny_folder, device="cpu", threads=1, batch_tokens=150)
    tasks = [replace(task, drawn=at % 3 != 0) for at, task in enumerate(some_tasks(9))]
    for task, scores in zip(tasks, engine.score(tasks, top_k=7), strict=True):
        if not task.drawn:
            assert scores.mass_above is scores.said_mass is scores.log_norms is None
            continue
        oracle = drawn(naive_logprobs(tiny_folder, task), task.completion_ids)
        assert scores.mass_above is not None
        assert scores.said_mass is not None
        assert scores.log_norms is not None
        assert_allclose(scores.mass_above, oracle["mass_above"], atol=2e-5)
        assert_allclose(scores.said_mass, oracle["said_mass"], atol=2e-5)
        # A nucleus that reaches its mass almost exactly may end one token later in single precision.
        apart = np.abs(scores.log_norms - oracle["log_norms"]) > 1e-4
        assert apart.sum() <= 1
