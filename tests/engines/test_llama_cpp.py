"""A real llama.cpp server on F32 weights as golden engine, against torch on the same weights."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from jobs.golden import ensure_gguf
from jobs.references import scorer_for
from monitor.config_types import ReferenceConfig
from monitor.ports import ScoreTask
from reference.engine import TorchEngine
from reference.engines.server import ServerEngine
from tests.lab.server import llama_server

pytestmark = [pytest.mark.lab, pytest.mark.golden]

QUESTIONS = ["Name three rivers.", "What is 12 times 12?", "Why do leaves fall?", "Say something kind.",
             "What do cats eat?", "What is a bridge for?"]  # fmt: skip


def test_scores_agree_within_two_thousandths(golden_home: Path, golden_folder: Path) -> None:
    """Answers are drawn at temperature 1, so tokens of all ranks are among them."""
    golden = TorchEngine.load(golden_folder, device="cpu")
    prompts = [golden.tokenizer.prompt_ids([{"role": "user", "content": text}]) for text in QUESTIONS]
    drawn = golden.sample(prompts, n=2, max_tokens=8, seed=4)
    tasks = [
        ScoreTask(prompt_ids=one.prompt_ids, completion_ids=tuple(step.token_id for step in one.steps))
        for row in drawn
        for one in row
    ]
    expected = golden.score(tasks)
    with llama_server(ensure_gguf(golden_home, "F32", print)) as address:
        reference = ReferenceConfig(
            engine="server", path=str(golden_folder), url=f"{address}/v1", model="SmolLM2-135M-Instruct", parallel=2
        )
        engine = scorer_for(reference)
        assert isinstance(engine, ServerEngine)
        try:
            assert engine.style.name == "one_token"
            found = engine.score(tasks)
        finally:
            asyncio.run(engine.aclose())
    own = np.concatenate([one.logprob - true.logprob for one, true in zip(found, expected, strict=True)])
    first = np.concatenate(
        [one.top_logprobs[:, 0] - true.top_logprobs[:, 0] for one, true in zip(found, expected, strict=True)]
    )
    assert len(own) > 50
    assert np.abs(first).mean() <= 0.002
    assert np.abs(own).mean() <= 0.002
    ranks = np.concatenate([one.rank - true.rank for one, true in zip(found, expected, strict=True)])
    assert (np.abs(ranks) <= 1).mean() > 0.9
