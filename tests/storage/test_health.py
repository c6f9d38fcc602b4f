"""Signs of life. Oracle: an injected clock, and processes that are there or not."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from jobs.alive import STALE_S, judge_spool, life_of, showing_life, sign_of
from jobs.clock import SystemClock
from jobs.health import health, run
from jobs.settings import catalogues
from monitor.config import Config, load
from monitor.errors import UsageError
from tests.storage.factories import START
from tests.storage.processes import store_process


class _Clock(SystemClock):
    def now(self) -> datetime:
        return START


async def test_where_no_new_file_can_be_made_the_sign_is_written_over_the_old_one(tmp_path: Path) -> None:
    """As on a full disk: the sign has to say that the spool is full, and not that the process hangs."""
    spool, full = tmp_path / "spool.sqlite", False
    async with showing_life(spool, _Clock(), every_s=0.01, more=lambda: {"spool_full": full}):
        while not life_of(spool, START)["alive"]:
            await asyncio.sleep(0.01)
        blocked = tmp_path / "spool.sqlite.alive.new"
        while True:  # the name may be in use for a moment
            try:
                blocked.mkdir()
            except FileExistsError:
                await asyncio.sleep(0.001)
            else:
                break
        full = True
        while life_of(spool, START)["alive"]:
            await asyncio.sleep(0.01)
        assert life_of(spool, START)["reason"].endswith("is full, and every slot is skipped: make room")


async def test_a_process_shows_life_while_it_works(tmp_path: Path) -> None:
    spool = tmp_path / "spool.sqlite"
    assert "does not run here" in life_of(spool, START)["reason"]
    async with showing_life(spool, _Clock(), every_s=0.01):
        while not sign_of(spool).exists():
            await asyncio.sleep(0.01)
        assert life_of(spool, START + timedelta(seconds=STALE_S))["alive"]
        late = life_of(spool, START + timedelta(seconds=STALE_S + 1))
        assert (late["alive"], late["reason"]) == (False, "last sign of life 61 s ago: dead, or hanging")
        sign_of(spool).unlink()
        while not sign_of(spool).exists():  # it is renewed
            await asyncio.sleep(0.01)
    assert not sign_of(spool).exists()


async def test_an_agent_whose_spool_is_full_does_not_work(tmp_path: Path) -> None:
    """It runs, and skips every slot: that is what somebody who asks wants to know."""
    spool, full = tmp_path / "spool.sqlite", True
    async with showing_life(spool, _Clock(), every_s=0.01, more=lambda: {"spool_full": full}):
        while not sign_of(spool).exists():
            await asyncio.sleep(0.01)
        found = life_of(spool, START)
        assert not found["alive"]
        assert "is full, and every slot is skipped: make room" in found["reason"]
        full = False
        while not life_of(spool, START)["alive"]:
            await asyncio.sleep(0.01)


def test_a_damaged_sign_is_no_life(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"at": 3}', '{"at": "2026-03-01T12:00:00"}'):
        sign_of(tmp_path / "s").write_text(text)
        assert not life_of(tmp_path / "s", START)["alive"]


def _config(tmp_path: Path, url: str) -> Config:
    text = yaml.safe_dump({
        "store": {"listen": urlsplit(url).netloc}, "dashboard": {"listen": "127.0.0.1:1"},
        "agent": {"spool": str(tmp_path / "spool.sqlite")},
        "endpoints": [{"name": "lab/faithful", "base_url": "http://127.0.0.1:1/v1", "model": "m"}],
    })  # fmt: skip
    return load(text, {}, catalogues(detectors=False))


async def test_health_of_the_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with store_process(tmp_path / "store.duckdb") as (process, url):
        config = _config(tmp_path, url)
        async with showing_life(judge_spool(tmp_path / "spool.sqlite"), _Clock()):
            await asyncio.sleep(0)
            found = {one["process"]: one["alive"] for one in await asyncio.to_thread(health, config, (), _Clock())}
        assert found == {"store": True, "agent": False, "judge": True, "dashboard": False}
        assert await asyncio.to_thread(run, config, ["store"], _Clock(), as_json=True) == 0
        process.kill()
        process.wait()
        assert await asyncio.to_thread(run, config, ["store"], _Clock(), as_json=False) == 1
    assert "does not answer (ConnectError)" in capsys.readouterr().out
    with pytest.raises(UsageError, match="no process is called stroe; there are store, agent, judge, dashboard"):
        health(config, ["stroe"], _Clock())
