"""What alerting is done with goes after 90 days; what it reads is bounded. Oracle: which nouns are still told of."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import httpx

from monitor.alerting.nouns import Mark
from monitor.codec import encode
from monitor.config_store import RetentionConfig
from monitor.ports import Entry
from storage.alert_reads import PLANS
from storage.api import app
from storage.store import DuckStore
from tests.storage.alert_nouns import ack, delivery, silence, track
from tests.storage.asks import put
from tests.storage.factories import START, exchange, incident, run_record


def days(n: float) -> datetime:
    return START + timedelta(days=n)


def told(store: DuckStore, *nouns: tuple[str, object]) -> None:
    mark = store.mark("alerts")
    store.ingest("alerts", [Entry(mark + 1 + i, kind, encode(noun)) for i, (kind, noun) in enumerate(nouns)])


def left(store: DuckStore, table: str, key: str) -> Sequence[str]:
    return [row["id"] for row in store.read(f"SELECT t.{key} AS id FROM {table} t ORDER BY ALL")]  # noqa: S608


def test_what_is_over_goes_and_what_is_not_stays(duck: DuckStore) -> None:
    sent, waits = replace(delivery(), delivery_id="sent", done_at=days(1)), replace(delivery(), delivery_id="waits")
    given_up = replace(delivery(), delivery_id="given up", given_up_at=days(7))
    fires, quiet = track(), replace(track(), track_id="quiet", firing=False)
    seen = (Mark(at=days(5), key="v", bad=True, since=START), Mark(at=days(40), key="w", bad=False, since=START))
    signs = replace(quiet, track_id="signs", recent=seen)
    never = replace(quiet, track_id="never", boundary_at=None, recent=())
    told(duck, *(("delivery", one) for one in (sent, waits, given_up)))
    told(duck, *(("alert_track", one) for one in (fires, quiet, signs, never)), ("silence", silence()))
    told(duck, *(("ack", replace(ack(), incident_id=name)) for name in ("open", "closed", "unknown")))
    told(duck, ("incident", incident("open")), ("incident", incident("closed", closed_at=days(3))))
    duck.upkeep(days(89), RetentionConfig())
    assert left(duck, "deliveries", "delivery_id") == ["given up", "sent", "waits"]
    assert left(duck, "alert_tracks", "track_id") == ["quiet", "signs", "t1"]
    assert (left(duck, "silences", "silence_id"), len(left(duck, "acks", "incident_id"))) == (["s1"], 3)
    duck.upkeep(days(98), RetentionConfig())
    assert left(duck, "deliveries", "delivery_id") == ["waits"]
    assert left(duck, "alert_tracks", "track_id") == ["signs", "t1"]
    assert (left(duck, "silences", "silence_id"), left(duck, "acks", "incident_id")) == ([], ["open"])
    assert left(duck, "incidents", "incident_id") == ["closed", "open"]


async def test_tallies_look_at_runs_of_about_that_time_alone(duck: DuckStore) -> None:
    """So that the history is not searched: a run that began more than a day before the window is none of it."""
    for name, began in (("near", -0.9), ("far", -1.1)):
        asked = [exchange(0, run_id=name, at=days(0.1))]
        put(duck, run_record(name, at=days(began), exchanges=asked, endpoint=f"lab/{name}"))
    where = {"since": days(0).isoformat(), "until": days(1).isoformat()}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app(duck, more=PLANS)), base_url="http://s") as client:
        tallies = (await client.get("/api/alert-tallies", params=where)).json()["tallies"]
    assert [one["endpoint"] for one in tallies] == ["lab/near"]
