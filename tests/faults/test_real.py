"""`lab faults` in front of a real engine (llama.cpp). Oracle: the name that the proxy was given, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.golden import ensure_gguf
from jobs.lab_faults.proxy import FaultProxy
from monitor.faults.find import faults
from monitor.faults.profiles import PROFILES
from monitor.types import Endpoint, Request
from monitor.wire.dispatch import decode
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from tests.faults.made import HELLO
from tests.faults.test_proxy import CERTAIN
from tests.lab.server import llama_server

pytestmark = [pytest.mark.lab, pytest.mark.golden]

CASES = list({(name, form): request for name, form, request in CERTAIN}.items())
"""One request for each kind and form that a real answer can carry."""


async def test_every_certain_fault_in_front_of_a_real_engine(golden_home: Path) -> None:
    clock, wrong = SystemClock(), {}
    with llama_server(ensure_gguf(golden_home, "Q4_0", print), "--ctx", "2048") as address:
        async with Heartbeat(clock).beating() as heartbeat:

            async def ask(url: str, request: Request) -> tuple[str, ...]:
                endpoint = Endpoint(name="lab/one", provider="lab", base_url=url, model="SmolLM2-135M-Instruct")
                client = http_client(endpoint, None, clock, heartbeat, Limits(first_byte_s=120, stall_s=120))
                exchange = decode(await client.send(replace(request, max_tokens=4)))
                await client.aclose()
                return faults(exchange, PROFILES["openai"])

            for stream in (True, False):
                assert await ask(f"{address}/v1", replace(HELLO, stream=stream)) == ()
            for (name, form), request in CASES:
                async with FaultProxy(f"{address}/v1", name) as proxy:
                    found = await ask(proxy.url, replace(request, stream=form == "stream"))
                if found != (name,):
                    wrong[name, form] = found
    assert wrong == {}
