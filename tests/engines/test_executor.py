"""Several processes as one scorer, some of which die. Oracle: the same tasks scored in this process."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jobs.scoring_pool import pool_of
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from monitor.ports import Scorer, Scores, ScoreTask
from reference.engines.pool import blocks
from reference.executor import Block, ProcessExecutor
from tests.fakes.golden import FakeScorer

DEADLY = (6, 6, 6)


def tasks(n: int = 12) -> list[ScoreTask]:
    rng = np.random.default_rng(4)
    prompts = [tuple(int(x) for x in rng.integers(1, 250, 20)) for _ in range(max(1, n // 3))]
    return [task(prompts[at % len(prompts)], tuple(int(x) for x in rng.integers(1, 250, 5))) for at in range(n)]


def task(prompt: tuple[int, ...], answer: tuple[int, ...]) -> ScoreTask:
    return ScoreTask(prompt_ids=prompt, completion_ids=answer, gather=((1,),) * len(answer))


class Mortal(FakeScorer):
    """Is killed, as by the kernel when memory is short, at the deadly prompt while a file is not there yet."""

    def __init__(self, mark: Path | None) -> None:
        super().__init__()
        self._mark = mark

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        if any(task.prompt_ids == DEADLY for task in tasks) and not (self._mark and self._mark.exists()):
            if self._mark:
                self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().score(tasks, top_k=top_k)


def mortal(mark: Path | None, number: int) -> Scorer:
    return Mortal(mark)


def refusing(number: int) -> Scorer:
    raise GoldenError("the folder is gone")


@contextmanager
def executing(executor: ProcessExecutor) -> Iterator[ProcessExecutor]:
    try:
        yield executor
    finally:
        executor.close()


def one_each(some: list[ScoreTask]) -> list[Block]:
    return [Block((at,), (one,), 5) for at, one in enumerate(some)]


def found_by(executor: ProcessExecutor, some: list[ScoreTask]) -> dict[int, Scores]:
    return {block.places[0]: scores[0] for block, scores in executor.run(one_each(some))}


def test_a_killed_worker_loses_no_result(tmp_path: Path) -> None:
    some = tasks(8)
    some.insert(3, task(DEADLY, (1, 2)))
    mark = tmp_path / "died"
    with executing(ProcessExecutor(partial(mortal, mark), 2)) as executor:
        found = found_by(executor, some)
    assert mark.exists()
    assert sorted(found) == list(range(len(some)))
    for at, expected in enumerate(FakeScorer().score(some)):
        assert_allclose(found[at].logprob, expected.logprob)


def test_a_block_that_kills_every_worker_is_given_up_and_the_pool_lives_on() -> None:
    deadly = [task(DEADLY, (1,))]
    with executing(ProcessExecutor(partial(mortal, None), 1)) as executor:
        with pytest.raises(GoldenError, match="ended 3 workers"):
            found_by(executor, deadly)
        assert sorted(found_by(executor, tasks(3))) == [0, 1, 2]


def test_an_engine_that_cannot_be_loaded_says_why() -> None:
    with executing(ProcessExecutor(refusing, 2)) as executor:
        with pytest.raises(GoldenError, match="the folder is gone"):
            executor.identify()
        with pytest.raises(GoldenError, match="the folder is gone"):
            found_by(executor, tasks(2))


def test_a_bug_of_an_engine_is_raised_here_with_its_place() -> None:
    """The fake knows ids below 256 only."""
    with executing(ProcessExecutor(partial(mortal, None), 1)) as executor, pytest.raises(RuntimeError, match="_one"):
        found_by(executor, [ScoreTask(prompt_ids=(1,), completion_ids=(1000,))])


def test_closing_ends_the_processes() -> None:
    executor = ProcessExecutor(partial(mortal, None), 1)
    found_by(executor, tasks(1))
    worker = executor._workers[0]
    assert worker is not None
    pid = worker.process.pid
    assert pid is not None
    executor.close()
    executor.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_blocks_hold_every_task_once_and_prompts_whole() -> None:
    some = [task(one.prompt_ids * 60, one.completion_ids) for one in tasks(30)]
    made = blocks(some, 5, 2)
    assert sorted(place for block in made for place in block.places) == list(range(30))
    assert len(made) > 2
    prompts = [{one.prompt_ids for one in block.tasks} for block in made]
    assert sum(map(len, prompts)) == len({one.prompt_ids for one in some})


def test_golden_weights_in_two_processes_score_as_in_one(tiny_folder: Path) -> None:
    from reference.engine import TorchEngine
    from tests.engines.test_sharing import several_answers

    some = several_answers(n_prompts=3)
    expected = TorchEngine.load(tiny_folder, device="cpu", threads=1).score(some)
    pool = pool_of(ReferenceConfig(path=str(tiny_folder), device="cpu", workers=2))
    try:
        found = pool.score(some)
        assert pool.fingerprint.engine == "torch-cpu"
        assert pool.tokenizer.encode("river")
    finally:
        pool.close()
    for one, other in zip(expected, found, strict=True):
        assert_allclose(one.logprob, other.logprob, atol=2e-5)


def test_a_pool_on_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GoldenError, match="not found"):
        pool_of(ReferenceConfig(path=str(tmp_path / "nowhere"), device="cpu", workers=2))
