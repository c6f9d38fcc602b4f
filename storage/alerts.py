"""Tables of alerting: what rules remember, messages on their way, silences and acknowledgements."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import duckdb

from monitor.alerting.nouns import Ack, Silence, Track
from monitor.alerting.outbox import Delivery
from monitor.codec import encode
from storage.instants import check_zones, maybe_utc, utc, zoned

SCHEMA = """
CREATE TABLE alert_tracks (track_id VARCHAR, rule VARCHAR, subject VARCHAR, firing BOOLEAN, record JSON);
CREATE TABLE deliveries (
    delivery_id VARCHAR, route VARCHAR, created_at TIMESTAMPTZ, done_at TIMESTAMPTZ, given_up_at TIMESTAMPTZ,
    record JSON
);
CREATE TABLE silences (silence_id VARCHAR, until TIMESTAMPTZ, record JSON);
CREATE TABLE acks (incident_id VARCHAR, "at" TIMESTAMPTZ, record JSON);
"""

TABLES = ("alert_tracks", "deliveries", "silences", "acks")

REPLACED: Mapping[str, str] = {
    "alert_tracks": "track_id", "deliveries": "delivery_id", "silences": "silence_id", "acks": "incident_id",
}  # fmt: skip
"""All of these keep only the latest row of each key, with that key."""

_Rows = dict[str, list[dict[str, Any]]]

DONE_FOR = timedelta(days=90)
"""So long messages that arrived or were given up, silences that ended, acknowledgements of incidents that ended, and
tracks that do not fire and had no sign since are still there to look at."""

_DONE = (
    "DELETE FROM deliveries d WHERE coalesce(d.done_at, d.given_up_at) < $cut",
    "DELETE FROM silences s WHERE s.until < $cut",
    """
    DELETE FROM acks a WHERE a."at" < $cut
      AND a.incident_id NOT IN (SELECT i.incident_id FROM incidents i WHERE coalesce(i.closed_at >= $cut, true))
    """,
    """
    DELETE FROM alert_tracks t WHERE NOT t.firing
      AND coalesce(
          TRY_CAST(coalesce(t.record->'recent'->-1->>'at', t.record->>'boundary_at') AS TIMESTAMPTZ) < $cut, true
      )
    """,
)


def forget_done(con: duckdb.DuckDBPyConnection, now: datetime) -> int:
    """Delete what has been over for `DONE_FOR` at `now`; return how many rows. Incidents stay."""
    return sum(int(con.execute(sql, {"cut": now - DONE_FOR}).fetchall()[0][0]) for sql in _DONE)


def _record(noun: object) -> str:
    check_zones(noun, type(noun).__name__.lower())
    return encode(noun).decode()


def _track(noun: Track) -> _Rows:
    row = {
        "track_id": noun.track_id, "rule": noun.rule, "subject": noun.subject, "firing": noun.firing,
        "record": _record(noun),
    }  # fmt: skip
    return {"alert_tracks": [row]}


def _delivery(noun: Delivery) -> _Rows:
    row = {
        "delivery_id": noun.delivery_id, "route": noun.route, "created_at": utc("created_at", noun.created_at),
        "done_at": maybe_utc("done_at", noun.done_at), "given_up_at": maybe_utc("given_up_at", noun.given_up_at),
        "record": _record(noun),
    }  # fmt: skip
    return {"deliveries": [row]}


def _silence(noun: Silence) -> _Rows:
    return {"silences": [{"silence_id": noun.silence_id, "until": zoned("until", noun.until), "record": _record(noun)}]}


def _ack(noun: Ack) -> _Rows:
    return {"acks": [{"incident_id": noun.incident_id, "at": utc("at", noun.at), "record": _record(noun)}]}


KINDS: Mapping[str, tuple[type[Any], Callable[[Any], _Rows]]] = {
    "alert_track": (Track, _track), "delivery": (Delivery, _delivery), "silence": (Silence, _silence),
    "ack": (Ack, _ack),
}  # fmt: skip
