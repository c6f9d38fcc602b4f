"""`weighmaster lab faults` as a process. Oracles: the address answers, the fault is there, the counts are told."""

import asyncio
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from jobs.lab_faults.proxy import FaultProxy
from jobs.replay import ReplayServer
from monitor.errors import UsageError
from tests.faults.test_proxy import CLEAN


async def test_it_serves_until_ctrl_c_and_tells_what_it_did() -> None:
    async with ReplayServer([CLEAN["whole"]]) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "jobs.cli", "lab", "faults", server.url, "--fault", "bad_finish", "--seed", "3",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient() as client:
            got = await client.post(f"{url}/chat/completions", json={"model": "m", "messages": []})
            listed = await client.get(f"{url}/models")
        process.send_signal(signal.SIGINT)
        _, told = await process.communicate()
    assert got.headers["x-lab-fault"] == "bad_finish"
    assert got.json()["choices"][0]["finish_reason"] == "stop_163586"
    assert listed.json()["data"][0]["id"] == "replay"
    assert process.returncode == 0
    assert told.decode() == "lab faults: 1 bad_finish, 1 clean\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["http://127.0.0.1:1/v1", "--fault", "nothing"], "there are: arguments_missing"),
        (["ftp://acme", "--fault", "bad_finish"], "not an http(s) address"),
        (["http://127.0.0.1:1/v1", "--fault", "bad_finish", "--rate", "2"], "--rate"),
    ],
)
def test_mistakes_are_named(arguments: list[str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jobs.cli", "lab", "faults", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert told in done.stderr


async def test_a_port_that_is_taken_is_named_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port} .*choose another host or port"):
            async with FaultProxy("http://127.0.0.1:1/v1", "bad_finish", port=port):
                pass
