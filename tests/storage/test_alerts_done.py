"""What alerting is done with goes after 90 days. Oracle: which of a handful of nouns are still told of."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from monitor.alerting.nouns import Mark
from monitor.codec import encode
from monitor.config_store import RetentionConfig
from monitor.ports import Entry
from storage.store import DuckStore
from tests.storage.alert_nouns import ack, delivery, silence, track
from tests.storage.factories import START, incident


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
