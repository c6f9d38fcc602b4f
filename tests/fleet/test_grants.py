"""What an agent's token may write. Oracle: the rule, word by word."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from monitor.codec import encode, plain
from storage.api import app
from storage.memory import MemoryStore
from tests.storage.factories import endpoint, incident, run_record, slot, verdict

EU = "agent-eu-0123456789abcdef"
RUN, SLOT = plain(run_record(vantage="eu")), plain(slot(vantage="eu"))
SIGN = {"vantage": "eu", "version": "1", "at": "2026-03-01T12:00:00Z", "waiting": 0}


async def sent(writer: str, kind: str, data: Any, tokens: Mapping[str, str]) -> int:
    application = app(MemoryStore(), token="owner", agents=lambda: tokens)
    headers = {"authorization": "Bearer of-eu"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(application), base_url="http://store", headers=headers
    ) as client:
        body = {"writer": writer, "entries": [{"seq": 1, "kind": kind, "data": data}]}
        return (await client.post("/api/ingest", json=body)).status_code


@pytest.mark.parametrize(
    ("status", "writer", "kind", "data"),
    [
        (200, EU, "run", RUN),
        (200, "traffic-eu-0123456789abcdef", "run", RUN),
        (200, EU, "slot", SLOT),
        (200, EU, "agent", SIGN),
        (200, EU, "endpoint", plain(endpoint())),
        (403, EU, "run", plain(run_record(vantage="us"))),
        (403, EU, "run", {"run": "eu"}),
        (403, EU, "run", None),
        (403, EU, "slot", plain(slot(vantage=None))),
        (403, EU, "agent", {**SIGN, "vantage": "us"}),
        (403, EU, "verdict", plain(verdict())),
        (403, EU, "incident", plain(incident())),
        (403, EU, "silence", {}),
        (403, "agent-us-0123456789abcdef", "run", RUN),
        (403, "agent-eu-2-0123456789abcdef", "run", RUN),
        (403, "judge-0123456789abcdef", "run", RUN),
    ],
)
async def test_an_agent_writes_what_it_measured_and_nothing_else(
    status: int, writer: str, kind: str, data: Any
) -> None:  # fmt: skip
    assert await sent(writer, kind, data, {"us": "of-us", "eu": "of-eu"}) == status


async def test_tokens_are_asked_for_each_time() -> None:
    tokens = {"eu": "of-eu"}
    assert await sent(EU, "run", RUN, tokens) == 200
    tokens["eu"] = "another"
    assert await sent(EU, "run", RUN, tokens) == 401
    assert b"of-eu" not in encode(RUN)
