"""The store as a process. Oracle: its exit code, what it leaves on disk, what clients see."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from jobs.store_client import StoreClient
from monitor.errors import StoreError
from storage.spool import SqliteSpool
from storage.store import DuckStore
from tests.storage.factories import packed, run_record
from tests.storage.processes import ROOT, store_process


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
async def test_it_stops_cleanly_when_told(tmp_path: Path, stop: signal.Signals) -> None:
    path, log = tmp_path / "store.duckdb", tmp_path / "store.duckdb.wal"
    spool = SqliteSpool(tmp_path / "spool", writer=None)
    spool.append([packed(run_record())])
    with store_process(path) as (process, url):
        client = StoreClient(url)
        assert await client.health() == {"status": "ok"}
        assert await client.push(spool) == 1
        await client.aclose()
        assert log in _files(tmp_path)
        process.send_signal(stop)
        assert process.wait(60) == 0
    spool.close()
    assert log not in _files(tmp_path)  # checkpointed
    store = DuckStore(path)
    assert store.counts()["runs"] == 1
    store.close()


def _fails(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "jobs.store_process", *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_second_process_is_told_who_has_the_file(tmp_path: Path) -> None:
    with store_process(tmp_path / "store.duckdb") as (process, _):
        said = _fails("--path", str(tmp_path / "store.duckdb"), "--port", "0")
    assert f"is in use by process {process.pid}: " in said


def test_a_taken_port_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = _fails("--path", str(tmp_path / "store.duckdb"), "--port", str(port))
    assert f"cannot listen on 127.0.0.1:{port}" in said
    assert "choose another host or port" in said


async def test_the_token_comes_from_the_environment(tmp_path: Path) -> None:
    with store_process(tmp_path / "store.duckdb", token="sesame") as (_, url):
        right, wrong = StoreClient(url, token="sesame"), StoreClient(url, token="open")
        assert await right.last_slots() == {}
        with pytest.raises(StoreError, match="answered 401: this store needs its token"):
            await wrong.last_slots()
        await right.aclose()
        await wrong.aclose()


async def test_a_body_over_the_limit_gets_its_answer_over_a_real_connection(tmp_path: Path) -> None:
    with store_process(tmp_path / "store.duckdb") as (_, url):
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            reply = await client.post(
                f"{url}/api/ingest", content=b" " * (64 * 2**20 + 1), headers={"Content-Type": "application/json"}
            )
            assert reply.status_code == 413
            assert (await client.get(f"{url}/api/health")).json() == {"status": "ok"}
