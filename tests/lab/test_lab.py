"""The four endpoints of the lab, through plain HTTP and through the program's own decoder."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import jobs.lab
from jobs.lab import Lab, serve
from jobs.replay import scripts_from
from monitor.errors import WeighmasterError
from monitor.types import Exchange
from monitor.wire.dispatch import decode
from monitor.wire.files import load

ANSWERS = Path(jobs.lab.__file__).parent / "lab_faults" / "answers"
ASKED = {"role": "user", "content": "What is the capital of France?"}
QUESTION = {"messages": [ASKED], "max_tokens": 4, "temperature": 0}


def exchange(name: str) -> Exchange:
    return decode(load((ANSWERS / name).read_bytes(), "timed"))


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("1_good.jsonl", "ok"),
        ("2_cut.jsonl", "truncated"),
        ("3_rate_limited.jsonl", "rate_limited"),
        ("4_cut_inside_event.jsonl", "truncated"),
        ("5_server_error.jsonl", "http_5xx"),
        ("6_broken_tool_call.jsonl", "ok"),
    ],
)
def test_each_recorded_answer_has_its_fault(name: str, outcome: str) -> None:
    assert exchange(name).outcome == outcome


def test_details_of_the_recorded_answers() -> None:
    assert len(scripts_from(ANSWERS)) == 6
    assert exchange("1_good.jsonl").choice.content == "The answer is water."
    assert exchange("2_cut.jsonl").choice.content == "The answer is"
    assert exchange("3_rate_limited.jsonl").retry_after_s == 2.0
    (call,) = exchange("6_broken_tool_call.jsonl").choice.tool_calls
    assert call.name == "get_weather"
    assert exchange("6_broken_tool_call.jsonl").choice.finish == "tool_calls"
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)


async def post(url: str, body: dict[str, Any]) -> httpx.Response:
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.post(f"{url}/chat/completions", json=body)


def spied(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """Collect the processes that the lab starts."""
    started: list[asyncio.subprocess.Process] = []

    start = asyncio.create_subprocess_exec

    async def seen(*command: Any, **pipes: Any) -> asyncio.subprocess.Process:
        started.append(await start(*command, **pipes))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", seen)
    return started


@pytest.mark.lab
@pytest.mark.golden
async def test_the_lab_serves_four_endpoints(golden_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = spied(monkeypatch)
    lines: list[str] = []
    async with Lab.start(golden_home, lines.append) as lab:
        by_name = {endpoint.name: endpoint for endpoint in lab.endpoints}
        assert list(by_name) == ["lab/faithful", "lab/degraded", "lab/misconfigured", "lab/faulty"]
        for endpoint in lab.endpoints:
            assert (endpoint.provider, endpoint.reference, endpoint.precision) == ("lab", "smollm2", "f16")
        counts = {}
        for name in ("lab/faithful", "lab/degraded", "lab/misconfigured"):
            reply = (await post(by_name[name].base_url, QUESTION)).json()
            assert reply["model"] == by_name[name].model == "SmolLM2-135M-Instruct"
            counts[name] = reply["usage"]["prompt_tokens"]
        assert counts["lab/faithful"] == counts["lab/degraded"] == 37
        assert counts["lab/misconfigured"] < 37  # no default system message
        seen: list[Any] = []
        for _ in range(6):
            try:
                seen.append((await post(by_name["lab/faulty"].base_url, QUESTION)).status_code)
            except httpx.RemoteProtocolError:
                seen.append("cut")
        assert seen == [200, "cut", 429, "cut", 500, 200]
    assert len(started) == 3
    assert all(process.returncode == 0 for process in started)
    assert lines


@pytest.mark.lab
@pytest.mark.golden
@pytest.mark.parametrize("way", ["error", "cancel", "cancel while starting"])
async def test_no_server_is_left_behind(golden_home: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    started = spied(monkeypatch)
    running = asyncio.Event()

    async def use() -> None:
        async with Lab.start(golden_home, lambda _: None):
            running.set()
            if way == "error":
                raise RuntimeError("stop here")
            await asyncio.sleep(600)

    task = asyncio.create_task(use())
    while not (running.is_set() or (way == "cancel while starting" and started)):
        await asyncio.sleep(0.01)
        assert not task.done() or running.is_set()
    if way != "error":
        task.cancel()
    with pytest.raises((RuntimeError, asyncio.CancelledError)):
        await task
    assert started
    assert all(process.returncode is not None for process in started)


@pytest.mark.lab
async def test_a_server_that_does_not_start_names_its_log(tmp_path: Path) -> None:
    broken, log = tmp_path / "broken.gguf", tmp_path / "logs" / "lab-broken.log"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(WeighmasterError, match=r"lab-broken\.log"):
        async with serve(broken, log) as server:
            await server.url()
    assert "cannot serve" in log.read_text("utf-8")
