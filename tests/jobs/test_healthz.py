"""``/healthz`` of processes that otherwise listen nowhere. Oracle: httpx as an independent client, and raw bytes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from jobs.alive import life_of, showing_life, sign_of
from jobs.clock import SystemClock
from jobs.healthz import MOST_AT_ONCE, answering
from jobs.listening import listening
from jobs.settings import load_config
from monitor.config_fields import Address
from monitor.errors import UsageError
from tests.jobs.service_processes import processes, until

LOOPBACK = Address(host="127.0.0.1", port=0)
WORKS = {"alive": True, "reason": None, "pid": 7, "version": "1", "age_s": 3.0, "config_invalid": None}


@asynccontextmanager
async def answerer(life: Mapping[str, Any]) -> AsyncIterator[str]:
    said: list[str] = []
    async with answering(LOOPBACK, "agent", lambda: life, said.append):
        yield said[0]


async def raw(url: str, sent: bytes) -> bytes:
    at = httpx.URL(url)
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(sent)
        return await reader.read()
    except ConnectionResetError:  # closed with something unread
        return b""
    finally:
        writer.close()


async def test_it_says_that_a_process_works() -> None:
    async with answerer(WORKS) as url, httpx.AsyncClient(trust_env=False) as http:
        reply = await http.get(f"{url}/healthz?verbose")
        assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
        assert reply.json() == {
            "status": "ok", "process": "agent", "version": "1", "reason": None, "config_valid": True, "age_s": 3.0,
        }  # fmt: skip
        assert (await http.head(f"{url}/healthz")).content == b""
        assert (await http.get(f"{url}/")).status_code == 404
        assert (await http.post(f"{url}/healthz")).status_code == 405


async def test_one_that_does_not_work_is_503_and_says_why() -> None:
    for why in ("last sign of life 61 s ago: dead, or hanging", "spool.sqlite is full"):
        async with answerer({"alive": False, "reason": why}) as url, httpx.AsyncClient(trust_env=False) as http:
            reply = await http.get(f"{url}/healthz")
            assert (reply.status_code, reply.json()["reason"], reply.json()["age_s"]) == (503, why, None)


async def test_what_is_wrong_with_a_configuration_is_not_told_to_strangers() -> None:
    """Its text stands in the log and in `weighmaster health`, which look at files of this machine."""
    life = WORKS | {"config_invalid": "endpoints[0]: canary", "reason": "works with its old: canary"}
    async with answerer(life) as url, httpx.AsyncClient(trust_env=False) as http:
        reply = await http.get(f"{url}/healthz")
    assert (reply.status_code, reply.json()["config_valid"]) == (200, False)
    assert "canary" not in reply.text
    assert "the file is not valid" in reply.text


async def test_what_is_no_request_gets_an_answer_or_none_and_hurts_nobody() -> None:
    async with answerer(WORKS) as url:
        assert (await raw(url, b"\x16\x03\x01\x00\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
        assert b" 200 " not in await raw(url, b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 9000)


async def test_connections_that_send_nothing_keep_nobody_out_and_are_closed() -> None:
    async with answerer(WORKS) as url:
        at = httpx.URL(url)
        idle = [await asyncio.open_connection(at.host, at.port) for _ in range(MOST_AT_ONCE + 8)]
        for _ in range(3):
            assert (await raw(url, b"GET /healthz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        for reader, _ in idle[: 8 + 1]:  # the oldest made room
            assert await reader.read() == b""
        for _, writer in idle:
            writer.close()
            await writer.wait_closed()


async def test_a_taken_address_is_told_and_nowhere_is_nothing() -> None:
    with listening("127.0.0.1", 0) as taken:
        at = Address(host="127.0.0.1", port=taken.getsockname()[1])
        with pytest.raises(UsageError, match="choose another host or port"):
            async with answering(at, "agent", lambda: WORKS, print):
                pass
    said: list[str] = []
    async with answering(None, "agent", lambda: WORKS, said.append):
        pass
    assert not said


async def test_it_goes_by_the_sign_of_life(tmp_path: Path) -> None:
    spool, clock, said = tmp_path / "spool.sqlite", SystemClock(), list[str]()
    async with (
        showing_life(spool, clock, every_s=0.01),
        answering(LOOPBACK, "judge", lambda: life_of(spool, clock.now()), said.append),
        httpx.AsyncClient(trust_env=False) as http,
    ):
        while not sign_of(spool).exists():
            await asyncio.sleep(0.01)
        assert (await http.get(f"{said[0]}/healthz")).json()["status"] == "ok"


CONFIG = """
store: {{listen: 127.0.0.1:1, path: {folder}/store.duckdb}}
agent: {{spool: {folder}/spool.sqlite, listen: 127.0.0.1:0}}
judge: {{listen: 127.0.0.1:0}}
endpoints: [{{name: lab/one, base_url: "http://127.0.0.1:1/v1", model: m}}]
"""


async def test_agent_and_judge_as_processes_answer(tmp_path: Path) -> None:
    """Without a store: it is their own health that they tell."""
    async with processes(tmp_path, {}) as made:
        made.config.write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
        assert load_config(made.config, {}).judge.listen == LOOPBACK
        made.start("agent")
        made.start("judge")
        for name in ("agent", "judge"):
            await until(lambda name=name: '{"url": "' in made.log(name), f"{name} says where")  # type: ignore[misc]
            url = made.log(name).partition('{"url": "')[2].partition('"')[0]
            reply = await asyncio.to_thread(httpx.get, f"{url}/healthz", trust_env=False)
            assert (reply.status_code, reply.json()["process"]) == (200, name)
