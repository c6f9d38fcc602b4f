"""Answers against scores and against the naive greedy continuation; captures through the program's own decoder."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monitor.errors import GoldenError
from monitor.ports import ScoreTask
from monitor.types import Capture, Request
from monitor.wire.dispatch import decode
from reference.engine import TorchEngine
from tests.reference.test_engine_score import naive_logprobs
from tests.reference.tiny import CONTEXT, EOS


def ask(content: str = "The river is", **changes: Any) -> Request:
    given: dict[str, Any] = {"max_tokens": 12, "temperature": 0.0} | changes
    return Request(prompt_id="p1", messages=({"role": "user", "content": content},), **given)


def body(capture: Capture) -> Any:
    return json.loads(capture.body)


async def test_greedy_answers_are_the_naive_argmax_and_agree_with_score(
    tiny_engine: TorchEngine, tiny_folder: Path
) -> None:
    answer = body(await tiny_engine.send(ask(top_logprobs=3)))
    (choice,) = answer["choices"]
    task = ScoreTask(prompt_ids=tuple(answer["prompt_token_ids"]), completion_ids=tuple(choice["token_ids"]))
    oracle = naive_logprobs(tiny_folder, task)
    assert list(oracle.argmax(1)) == choice["token_ids"]
    entries = choice["logprobs"]["content"]
    (scores,) = tiny_engine.score([task], top_k=3)
    assert_allclose([entry["logprob"] for entry in entries], scores.logprob, atol=1e-5)
    assert (scores.rank == 0).all()
    listed = [[top["logprob"] for top in entry["top_logprobs"]] for entry in entries]
    assert_allclose(listed, scores.top_logprobs, atol=1e-5)


async def test_an_answer_decodes_like_an_endpoints(tiny_engine: TorchEngine) -> None:
    capture = await tiny_engine.send(ask(top_logprobs=2))
    exchange = decode(capture)
    answer = body(capture)
    assert exchange.outcome in {"ok", "ok_length"}
    assert exchange.usage is not None
    assert exchange.usage["completion_tokens"] == len(answer["choices"][0]["token_ids"])
    assert exchange.usage["prompt_tokens"] == len(tiny_engine.tokenizer.prompt_ids(ask().messages))
    assert exchange.choice.logprobs is not None
    assert [entry.id for entry in exchange.choice.logprobs] == answer["choices"][0]["token_ids"]
    assert capture.t0_ns is not None
    assert capture.eof_ns is not None
    assert capture.t0_ns < capture.eof_ns
    assert capture.started_at is not None
    assert json.loads(capture.sent)["max_tokens"] == 12


async def test_no_logprobs_unless_asked(tiny_engine: TorchEngine) -> None:
    assert body(await tiny_engine.send(ask()))["choices"][0]["logprobs"] is None
    content = body(await tiny_engine.send(ask(top_logprobs=0)))["choices"][0]["logprobs"]["content"]
    assert all(entry["top_logprobs"] == [] for entry in content)


async def test_an_end_token_ends_the_answer(tiny_folder: Path, tmp_path: Path, tiny_engine: TorchEngine) -> None:
    """The third greedy token is declared an end token."""
    greedy = body(await tiny_engine.send(ask()))["choices"][0]["token_ids"]
    folder = tmp_path / "ends"
    shutil.copytree(tiny_folder, folder)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [EOS, greedy[2]]}), "utf-8")
    engine = TorchEngine.load(folder, device="cpu")
    answer = body(await engine.send(ask()))
    first = greedy.index(greedy[2])
    assert answer["choices"][0]["token_ids"] == greedy[: first + 1]
    assert answer["choices"][0]["finish_reason"] == "stop"


async def test_max_tokens_and_the_context_end_the_answer(tiny_engine: TorchEngine) -> None:
    answer = body(await tiny_engine.send(ask(max_tokens=2)))
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 2
    full = body(await tiny_engine.send(ask(max_tokens=10_000, seed=1, temperature=1.0, top_p=1.0)))
    assert full["usage"]["total_tokens"] <= CONTEXT + 1


async def test_a_prompt_beyond_the_context_is_refused(tiny_engine: TorchEngine) -> None:
    with pytest.raises(GoldenError, match=r"prompt p1: .* exceed"):
        await tiny_engine.send(ask("river " * 200))


async def test_seeds_decide_sampled_answers(tiny_engine: TorchEngine) -> None:
    async def ids(seed: int | None) -> list[int]:
        answer = body(await tiny_engine.send(ask(seed=seed, temperature=1.5)))
        return list(answer["choices"][0]["token_ids"])

    assert await ids(7) == await ids(7)
    assert len({tuple(await ids(seed)) for seed in range(4)}) > 1
    assert len({tuple(await ids(None)) for _ in range(4)}) > 1


async def test_logprobs_do_not_know_the_temperature(tiny_engine: TorchEngine) -> None:
    async def first(temperature: float) -> list[float]:
        answer = body(await tiny_engine.send(ask(seed=1, temperature=temperature, top_logprobs=5, max_tokens=1)))
        return [top["logprob"] for top in answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]]

    assert_allclose(await first(0.2), await first(3.0), atol=1e-7)


async def test_the_loop_runs_on_while_the_engine_computes(tiny_engine: TorchEngine) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticker = asyncio.create_task(tick())
    await tiny_engine.send(ask(max_tokens=30, seed=3, temperature=1.0))
    ticker.cancel()
    assert ticks > 5


async def test_a_cancelled_answer_frees_the_engine(tiny_engine: TorchEngine) -> None:
    task = asyncio.create_task(tiny_engine.send(ask(max_tokens=60, seed=3, temperature=1.0)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert body(await tiny_engine.send(ask(max_tokens=1)))["usage"]["completion_tokens"] == 1


async def test_closing_twice_is_fine(tiny_folder: Path) -> None:
    engine = TorchEngine.load(tiny_folder, device="cpu")
    await engine.aclose()
    await engine.aclose()


async def test_answers_from_several_tasks_do_not_mix(tiny_engine: TorchEngine) -> None:
    questions = [ask(f"{n} boats", max_tokens=6) for n in range(4)]
    alone = [body(await tiny_engine.send(question))["choices"][0]["token_ids"] for question in questions]
    async with asyncio.TaskGroup() as group:
        sent = [group.create_task(tiny_engine.send(question)) for question in questions]
        for question in questions:
            ids = tuple(tiny_engine.tokenizer.prompt_ids(question.messages))
            scores = await asyncio.to_thread(tiny_engine.score, [ScoreTask(prompt_ids=ids, completion_ids=(5, 6))])
            assert np.isfinite(scores[0].logprob).all()
    assert [body(task.result())["choices"][0]["token_ids"] for task in sent] == alone
