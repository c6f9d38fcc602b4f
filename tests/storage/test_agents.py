"""The newest sign of each agent. Oracle: what was signed last."""

from dataclasses import replace

import httpx

from monitor.codec import encode, plain
from monitor.ports import Entry
from storage.agent_reads import PLANS
from storage.api import app
from storage.store import DuckStore
from tests.storage.alert_nouns import sign
from tests.storage.factories import minutes


async def test_the_last_sign_of_each_vantage_is_told(duck: DuckStore) -> None:
    tokyo = replace(sign(), vantage="tokyo", clock_offset_s=None, clock_error_s=None)
    signs = [sign(), tokyo, replace(sign(), at=minutes(1), waiting=9)]
    duck.ingest("w", [Entry(1 + i, "agent", encode(one)) for i, one in enumerate(signs)])
    duck.ingest("w", [Entry(9, "agent", encode(replace(sign(), at=minutes(0).replace(tzinfo=None))))])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app(duck, more=PLANS)), base_url="http://s") as client:
        told = (await client.get("/api/agents")).json()
    assert told == {"agents": [plain(signs[2]), plain(tokyo)]}
    assert duck.counts()["rejected"] == 1
