"""Every engine gives back what it holds, once or twice. Oracles: processes, threads, connections and memory."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.references import scorer_for
from monitor.config_types import ReferenceConfig
from monitor.ports import ScoreTask
from monitor.types import Request
from reference.engine import TorchEngine
from reference.engines.pool import PoolScorer
from reference.executor import ProcessExecutor
from tests.engines.golden_server import VLLM, serving

TASKS = [ScoreTask(prompt_ids=(5, 6), completion_ids=(7,))]
ASKED = Request(prompt_id="p", messages=({"role": "user", "content": "boats"},), max_tokens=2, temperature=0.0)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    ends = time.monotonic() + seconds
    while not condition() and time.monotonic() < ends:
        time.sleep(0.01)
    return condition()


async def test_weights_in_this_process_give_back_thread_and_memory(tiny_folder: Path) -> None:
    engine: Any = scorer_for(ReferenceConfig(path=str(tiny_folder), device="cpu"))
    assert isinstance(engine, TorchEngine)
    before = set(threading.enumerate())
    await engine.send(ASKED)
    (worker,) = set(threading.enumerate()) - before
    engine.close()
    engine.close()
    assert within(10, lambda: not worker.is_alive())
    assert {weight.device.type for weight in engine.weights.model.parameters()} == {"meta"}
    await engine.aclose()


def test_a_pool_ends_its_processes(tiny_folder: Path) -> None:
    engine = scorer_for(ReferenceConfig(path=str(tiny_folder), device="cpu", workers=2))
    assert isinstance(engine, PoolScorer)
    assert isinstance(engine.executor, ProcessExecutor)
    engine.score(TASKS)
    pids = [worker.process.pid for worker in engine.executor._workers if worker is not None]
    assert pids
    engine.close()
    engine.close()
    assert all(pid is not None and gone(pid) for pid in pids)


async def test_a_server_engine_closes_its_connections(tiny_folder: Path, tiny_engine: TorchEngine) -> None:
    with serving(tiny_engine, VLLM) as url:
        config = ReferenceConfig(engine="server", path=str(tiny_folder), url=url, model="tiny")
        engine: Any = scorer_for(config)
        engine.score(TASKS)
        engine.close()
        engine.close()
        assert engine.ask._http.is_closed
        await engine.aclose()
        await engine.aclose()


async def test_an_official_api_holds_nothing_until_it_is_asked(tiny_folder: Path) -> None:
    url = "https://vendor.example/v1"
    engine: Any = scorer_for(ReferenceConfig(engine="official", path=str(tiny_folder), url=url, model="m"))
    for _ in range(2):
        engine.close()
        await engine.aclose()
