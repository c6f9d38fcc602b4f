"""Prefixes that are read once for many sequences. Oracle: one plain forward per sequence, prefix and all."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

from monitor.ports import ScoreTask
from reference.batches import Past
from reference.engine import TorchEngine
from reference.torch_weights import TorchWeights
from tests.reference.test_engine_score import assert_agrees
from tests.reference.tiny import CONTEXT, save_tiny

SIZE: dict[str, Any] = {
    "vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 16, "max_position_embeddings": CONTEXT,
}  # fmt: skip
ROPE = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
SHARING = {
    "llama": transformers.LlamaConfig(**SIZE),
    "sliding": transformers.Gemma2Config(**SIZE, sliding_window=12, final_logit_softcapping=3.0),
    "mistral": transformers.MistralConfig(**SIZE, sliding_window=10),
    "qwen3": transformers.Qwen3Config(**SIZE),
    "experts": transformers.MixtralConfig(**SIZE, num_local_experts=4),
    "learned positions": transformers.GPT2Config(
        vocab_size=300, n_embd=32, n_layer=2, n_head=2, n_positions=CONTEXT, bos_token_id=1, eos_token_id=2
    ),
}
NOT_SHARING = {
    "rotated by length": transformers.LlamaConfig(**SIZE, rope_parameters=ROPE),
    "state space": transformers.MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, eos_token_id=2),
}


def several_answers(*, seed: int = 3, n_prompts: int = 4, n_system: int = 11) -> list[ScoreTask]:
    """Prompts with a common start and three answers each, and one prompt with a single answer."""
    rng = np.random.default_rng(seed)

    def ids(n: int) -> tuple[int, ...]:
        return tuple(int(x) for x in rng.integers(3, 290, n))

    system = ids(n_system)
    prompts = [system + ids(int(rng.integers(1, 30))) for _ in range(n_prompts)]
    answers = [(prompt, ids(int(rng.integers(1, 14)))) for prompt in prompts for _ in range(3)]
    answers.append((system + ids(5), ids(6)))
    rng.shuffle(answers)
    tasks = [ScoreTask(prompt_ids=prompt, completion_ids=answer) for prompt, answer in answers]
    return [replace(task, gather=tuple(ids(3) for _ in task.completion_ids)) for task in tasks]


@pytest.mark.parametrize("name", SHARING)
@pytest.mark.parametrize("batch_tokens", [60, 4096])
def test_shared_prefixes_change_nothing(name: str, batch_tokens: int, tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "model", config=SHARING[name])
    engine = TorchEngine.load(folder, device="cpu", batch_tokens=batch_tokens)
    assert engine.weights.shares
    assert_agrees(engine, folder, several_answers(), 1e-4)


@pytest.mark.parametrize("name", NOT_SHARING)
def test_what_cannot_share_is_scored_as_whole_sequences(name: str, tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "model", config=NOT_SHARING[name])
    engine = TorchEngine.load(folder, device="cpu")
    assert not engine.weights.shares
    assert_agrees(engine, folder, several_answers(), 1e-4)


def test_every_prompt_and_what_all_begin_with_are_read_once(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """11 tokens of system, then each longer prompt with three answers, then one position per answer token."""
    read: list[int] = []
    remember, score = TorchWeights.remember, TorchWeights.score

    def remembering(self: TorchWeights, runs: Sequence[Sequence[int]], past: Past | None) -> list[Past]:
        read.extend(map(len, runs))
        return remember(self, runs, past)

    def scoring(self: TorchWeights, rows: Any, top_k: int) -> Any:
        read.append(sum(row.n_unread for row in rows))
        return score(self, rows, top_k)

    monkeypatch.setattr(TorchWeights, "remember", remembering)
    monkeypatch.setattr(TorchWeights, "score", scoring)
    tasks = several_answers(n_prompts=2)
    long = [task for task in tasks if sum(other.prompt_ids == task.prompt_ids for other in tasks) == 3]
    long = [task for task in long if len(task.prompt_ids) - 12 >= 8]
    alone = [task for task in tasks if task not in long]
    TorchEngine.load(tiny_folder, device="cpu").score(tasks)
    expected = 11 + sum({task.prompt_ids: len(task.prompt_ids) - 12 for task in long}.values())
    expected += sum(len(task.completion_ids) for task in long)
    expected += sum(len(task.prompt_ids) - 12 + len(task.completion_ids) for task in alone)
    assert long
    assert sum(read) == expected


def test_results_come_as_their_batch_is_done(tiny_folder: Path) -> None:
    told: list[tuple[int, int]] = []
    engine = TorchEngine.load(tiny_folder, device="cpu", batch_tokens=40, progress=lambda *now: told.append(now))
    tasks = [ScoreTask(prompt_ids=(5,), completion_ids=()), *several_answers()]
    stream = engine.score_each(tasks)
    first, _ = next(stream)
    assert first == 0
    second, _ = next(stream)
    assert len(told) == 1
    assert sorted([first, second, *dict(stream)]) == list(range(len(tasks)))
    assert told[-1] == (len(tasks), len(tasks))


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory")])
def test_what_torch_cannot_allocate_halves_the_batch(
    error: Exception, tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = several_answers()
    expected = tiny_engine.score(tasks)
    read, sizes = TorchWeights._read, []

    def small(self: TorchWeights, runs: Sequence[Sequence[int]], rows: Any) -> Any:
        sizes.append(len(runs))
        if len(runs) > 1:
            raise error
        return read(self, runs, rows)

    monkeypatch.setattr(TorchWeights, "_read", small)
    for one, other in zip(expected, tiny_engine.score(tasks), strict=True):
        assert_allclose(one.logprob, other.logprob, atol=2e-5)
    assert max(sizes) > 2


def test_other_errors_of_torch_are_raised(tiny_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(TorchWeights, "_read_once", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        tiny_engine.score(several_answers())


def test_memory_is_reported(tiny_engine: TorchEngine) -> None:
    """The process holds at least torch's libraries and cannot hold more than the machine."""
    assert 50 << 20 < tiny_engine.peak_memory_bytes() < 1 << 40
