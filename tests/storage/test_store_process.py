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
from storage.own_names import is_own
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


def _fails(*arguments: str, status: int = 3) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "jobs.store_process", *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=60,
    )  # fmt: skip
    assert done.returncode == status
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
        said = _fails("--path", str(tmp_path / "store.duckdb"), "--port", str(port), status=2)
    assert f"cannot listen on 127.0.0.1:{port}" in said
    assert "choose another host or port" in said


def test_beyond_loopback_it_wants_a_token(tmp_path: Path) -> None:
    said = _fails("--path", str(tmp_path / "store.duckdb"), "--port", "0", "--host", "0.0.0.0")  # noqa: S104
    assert "0.0.0.0 can be reached from other machines, and there is no token" in said
    assert not (tmp_path / "store.duckdb").exists()


OWN = ["127.0.0.1", "127.0.0.1:8317", "localhost", "LocalHost:1", "[::1]:80", "127.9.9.9"]
OTHERS = ["", "evil.example", "evil.example:8317", "127.0.0.1.evil.example", "localhost.example", "10.0.0.1", "[::]"]


@pytest.mark.parametrize("host", [*OWN, *OTHERS])
def test_names_of_this_machine(host: str) -> None:
    assert is_own(host) is (host in OWN)


async def test_a_web_page_that_renamed_itself_to_loopback_is_refused(tmp_path: Path) -> None:
    """DNS rebinding: the address is ours, the name is theirs."""
    with store_process(tmp_path / "store.duckdb") as (_, url):
        async with httpx.AsyncClient(trust_env=False) as client:
            for path in ("/api/overview", "/healthz"):
                reply = await client.get(url + path, headers={"Host": "evil.example"})
                assert reply.status_code == 403
                assert "without a token" in reply.json()["error"]
            assert (await client.get(f"{url}/healthz")).status_code == 200
    with store_process(tmp_path / "store.duckdb", token="sesame") as (_, url):
        headers = {"Host": "store.example", "Authorization": "Bearer sesame"}
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{url}/api/overview", headers=headers)).status_code == 200


async def test_the_token_comes_from_the_environment(tmp_path: Path) -> None:
    with store_process(tmp_path / "store.duckdb", token="sesame") as (_, url):
        right, wrong, none = StoreClient(url, token="sesame"), StoreClient(url, token="open"), StoreClient(url)
        assert await right.last_slots() == {}
        with pytest.raises(StoreError, match="answered 401: this is not the token of the store"):
            await wrong.last_slots()
        with pytest.raises(StoreError, match="answered 401: this store needs its token"):
            await none.last_slots()
        for one in (right, wrong, none):
            await one.aclose()


async def test_a_body_over_the_limit_gets_its_answer_over_a_real_connection(tmp_path: Path) -> None:
    with store_process(tmp_path / "store.duckdb") as (_, url):
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            reply = await client.post(
                f"{url}/api/ingest", content=b" " * (64 * 2**20 + 1), headers={"Content-Type": "application/json"}
            )
            assert reply.status_code == 413
            assert (await client.get(f"{url}/api/health")).json() == {"status": "ok"}
