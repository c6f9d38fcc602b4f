"""What `status` tells of the schedule. Oracle: counting by hand on a store with known rows."""

from datetime import timedelta

import httpx
import pytest

from jobs.status import slots_text, spent_text, status_rows
from jobs.store_client import StoreClient
from monitor.errors import StoreError
from monitor.shape import TRAFFIC
from storage.api import app
from storage.memory import MemoryStore
from tests.schedule.simulated import config
from tests.storage.factories import START, endpoint, entries, exchange, minutes, run_record, slot

TEXT = """
endpoints:
  - {name: lab/faithful, base_url: http://h, model: m, price_in_usd: 1000, price_out_usd: 1000,
     budget_tokens_per_day: 5_000, budget_usd_per_day: 2}
  - {name: lab/other, base_url: http://h, model: m}
"""


async def test_slots_of_a_day_and_spending_of_the_utc_day() -> None:
    store = MemoryStore()
    asked = [exchange(n, run_id="r1", at=minutes(3)) for n in range(3)] + [exchange(3, run_id="r1", usage=None)]
    store.ingest("w", entries(
        endpoint(), endpoint("lab/other"), run_record("r1", at=minutes(3), exchanges=asked),
        run_record("yesterday", at=START - timedelta(hours=13)),
        run_record("real", probe=TRAFFIC, at=minutes(3)),  # what `ingest` took in was asked by others
        slot(at=minutes(-60 * 25)), slot(at=minutes(1)), slot(at=minutes(2)),
        slot(at=minutes(3), state="skipped", run_id=None, reason="over budget: 1 of 2"),
        slot(at=minutes(4), state="skipped", run_id=None, reason="agent offline: nothing answers"),
        slot(at=minutes(5), state="missed", run_id=None, reason="nothing ran"),
    ))  # fmt: skip
    client = StoreClient("http://store.test", transport=httpx.ASGITransport(app(store)))
    first, second = await status_rows(config(TEXT), client, minutes(10))
    assert first["slots"] == {"done": 2, "skipped": 2, "missed": 1}
    assert slots_text(first) == "2 done, 2 skipped (agent offline 1, over budget 1), 1 missed"
    assert first["tokens_today"] == 3 * 13
    assert spent_text(first) == "39 of 5,000; 0.039 of 2 USD + 1 uncounted answers"
    assert (slots_text(second), spent_text(second), second["budget"]) == ("none", "0", None)


async def test_another_server_that_answers_json_is_told_to_be_none_of_ours() -> None:
    other = httpx.MockTransport(lambda _: httpx.Response(200, json={"object": "list"}))
    client = StoreClient("http://x", transport=other)
    with pytest.raises(StoreError, match="no store of Weighmaster"):
        await status_rows(config(TEXT), client, minutes(10))
