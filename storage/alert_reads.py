"""Reads of alerting. The store counts and takes hourly medians; all that decides is done by those who ask."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import orjson

from monitor.codec import plain
from monitor.errors import StoreError
from monitor.types import ANSWERED, NOT_THE_ENDPOINTS_FAULT
from storage.agent_reads import AGENTS
from storage.interface import Json, ReadStore
from storage.parameters import Parameters, RefusedError

MOST_SAMPLES = 200_000
MOST_VERDICTS = 20_000
MOST_LISTED = 1000

_IN_FORCE = """
SELECT 'tracks' AS what, t.record FROM alert_tracks t
UNION ALL SELECT 'incidents', i.record FROM incidents i WHERE i.closed_at IS NULL
UNION ALL SELECT 'outages', i.record FROM incidents i
    WHERE i.closed_at >= $since AND i.endpoint LIKE 'provider %'
UNION ALL SELECT 'silences', s.record FROM silences s WHERE s.until > $now
UNION ALL SELECT 'acks', a.record FROM acks a
    WHERE a.incident_id IN (SELECT i.incident_id FROM incidents i WHERE i.closed_at IS NULL)
"""

_WAITING = """
SELECT d.record FROM deliveries d WHERE d.done_at IS NULL AND d.given_up_at IS NULL ORDER BY d.created_at
"""

# A slot that was skipped for its budget says that its agent is well. One that was missed does not, nor one that was
# skipped since the agent had no network or was busy.
_HEARD = """
SELECT vantage, max("at") AS "at" FROM (
    SELECT r.vantage, max(r.finished_at) AS "at" FROM runs r WHERE r.finished_at >= $since GROUP BY r.vantage
    UNION ALL SELECT s.vantage, max(s.slot_at) FROM slots s
    WHERE s.slot_at >= $since AND s.state <> 'missed' AND s.vantage IS NOT NULL
      AND coalesce(s.reason, '') NOT LIKE 'agent %' GROUP BY s.vantage
) GROUP BY vantage ORDER BY vantage
"""

_SAMPLES = """
SELECT e.endpoint, e.exchange_id, e.at, r.probe, r.vantage, e.outcome,
       if(e.measurement = 'valid', e.ttft_ms, NULL) AS ttft_ms,
       if(e.measurement = 'valid', e.tpot_ms, NULL) AS tpot_ms,
       if(e.measurement = 'valid', e.tps, NULL) AS tps, r.record->>'maintenance' AS maintenance
FROM exchanges e JOIN runs r ON r.run_id = e.run_id
WHERE e.at >= $since AND r.started_at >= $since - INTERVAL 1 DAY
ORDER BY e.at DESC LIMIT $limit
"""

# ruff: noqa: S608  # only names of our own
_PAST = """
SELECT e.endpoint, '{metric}' AS metric, make_timestamptz(hour * 3600000000) AS "at", median(value) AS value,
       count(value) AS n
FROM (
    SELECT e.endpoint, epoch_us(e.at) // 3600000000 AS hour, e.{metric} AS value
    FROM exchanges e JOIN runs r ON r.run_id = e.run_id
    WHERE e.at >= $since AND e.at < $until AND r.started_at >= $since - INTERVAL 1 DAY
      AND e.measurement = 'valid' AND e.outcome IN ('ok', 'ok_length')
      AND r.probe = $probe AND e.{metric} IS NOT NULL AND r.record->>'maintenance' IS NULL
) e GROUP BY e.endpoint, hour
"""

_TALLIES = f"""
SELECT e.endpoint, make_timestamptz(bucket * $width) AS "at", $width / 1e6 AS width_s,
       count(*) FILTER (WHERE e.outcome IN ({", ".join(f"'{one}'" for one in sorted(ANSWERED))})) AS good,
       count(*) AS n
FROM (
    SELECT e.endpoint, e.outcome, epoch_us(e.at) // $width AS bucket
    FROM exchanges e JOIN runs r ON r.run_id = e.run_id
    WHERE e.at >= $since AND e.at < $until AND r.started_at >= $since - INTERVAL 1 DAY
      AND r.record->>'maintenance' IS NULL
      AND e.outcome NOT IN ({", ".join(f"'{one}'" for one in sorted(NOT_THE_ENDPOINTS_FAULT))})
) e GROUP BY e.endpoint, bucket
"""

_VERDICTS = """
SELECT v.record FROM verdicts v WHERE v.at >= $since AND v.status <> 'inconclusive' ORDER BY v.at DESC LIMIT $limit
"""

# The first run of a verdict is the one that was judged; the others are what else was known.
_MAINTAINED = """
SELECT v.verdict_id, any_value(r.record->>'maintenance') AS maintenance
FROM verdicts v JOIN runs r ON r.run_id = v.record->'run_ids'->>0
WHERE v.at >= $since AND r.started_at >= $since - INTERVAL 1 DAY AND r.record->>'maintenance' IS NOT NULL
GROUP BY v.verdict_id
"""

_LISTED = """
SELECT i.record, a.record AS ack FROM incidents i LEFT JOIN acks a ON a.incident_id = i.incident_id
ORDER BY i.closed_at IS NOT NULL, i.opened_at DESC LIMIT $limit
"""

_TROUBLED = """
SELECT d.record FROM deliveries d
WHERE d.done_at IS NULL AND (d.given_up_at IS NOT NULL OR CAST(d.record->>'attempts' AS BIGINT) > 0)
ORDER BY d.created_at DESC LIMIT $limit
"""


_SILENCES = "SELECT s.record FROM silences s WHERE s.until > $now ORDER BY s.until"


class _Database(Protocol):
    """A store that answers SQL of ours."""

    def read(self, sql: str, **parameters: Any) -> list[dict[str, Any]]: ...


_Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]


def _database(store: Any) -> _Database:
    if not hasattr(store, "read"):
        raise StoreError("this store keeps no alerts: use one with a database")
    found: _Database = store
    return found


def _records(rows: list[dict[str, Any]]) -> list[Any]:
    return [orjson.loads(row["record"]) for row in rows]


def _given(name: str, at: datetime | None) -> datetime:
    """The instant of a parameter that is needed. Asked for when the read runs: the description asks for none."""
    if at is None:
        raise RefusedError(400, f"parameter {name!r} is required")
    return at


def _in_force(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """All that rules remember, open incidents, silences, acknowledgements, messages on their way, agents heard of."""
    now, since = ask.moment("now"), ask.moment("since")

    def read() -> Json:
        database, start = _database(store), _given("since", since)
        found: Json = {what: [] for what in ("tracks", "incidents", "outages", "silences", "acks")}
        for row in database.read(_IN_FORCE, now=_given("now", now), since=start):
            found[row["what"]].append(orjson.loads(row["record"]))
        heard = {row["vantage"]: row["at"] for row in database.read(_HEARD, since=start)}
        signs = _records(database.read(AGENTS))
        return {**found, "deliveries": _records(database.read(_WAITING)), "heard": plain(heard), "signs": signs}

    return read


def _samples(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Every request since an instant, as far as rules look at it."""
    since = ask.moment("since")

    def read() -> Json:
        rows = _database(store).read(_SAMPLES, since=_given("since", since), limit=MOST_SAMPLES)
        return {"samples": plain(rows)}

    return read


def _past(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Hourly medians of a timing (ttft_ms, tpot_ms or tps) for every endpoint."""
    metric, probe, since, until = ask.text("metric"), ask.text("probe"), ask.moment("since"), ask.moment("until")

    def read() -> Json:
        if metric not in {"ttft_ms", "tpot_ms", "tps"}:
            raise RefusedError(400, "parameter 'metric' must be one of ttft_ms, tpot_ms, tps")
        span = {"since": _given("since", since), "until": _given("until", until)}
        return {"medians": plain(_database(store).read(_PAST.format(metric=metric), probe=probe, **span))}

    return read


def _tallies(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Requests and complete answers per endpoint and time bucket."""
    since, until = ask.moment("since"), ask.moment("until")
    width = ask.number("width_s", default=300, high=86400) * 1_000_000

    def read() -> Json:
        span = {"since": _given("since", since), "until": _given("until", until)}
        return {"tallies": plain(_database(store).read(_TALLIES, width=width, **span))}

    return read


def _verdicts(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Verdicts that decided something since an instant, and which of them are on runs of maintenance windows."""
    since = ask.moment("since")

    def read() -> Json:
        database, start = _database(store), _given("since", since)
        verdicts = _records(database.read(_VERDICTS, since=start, limit=MOST_VERDICTS))
        maintained = {row["verdict_id"]: row["maintenance"] for row in database.read(_MAINTAINED, since=start)}
        return {"verdicts": verdicts, "maintained": maintained}

    return read


def _listed(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Incidents, open ones first, with who knows of them; silences; messages that do not arrive."""
    limit, now = ask.number("limit", default=50, high=MOST_LISTED), ask.moment("now")

    def read() -> Json:
        database = _database(store)
        incidents = [
            {**orjson.loads(row["record"]), "ack": None if row["ack"] is None else orjson.loads(row["ack"])}
            for row in database.read(_LISTED, limit=limit)
        ]
        return {
            "incidents": incidents, "undelivered": _records(database.read(_TROUBLED, limit=limit)),
            "silences": _records(database.read(_SILENCES, now=_given("now", now))),
        }  # fmt: skip

    return read


PLANS: Mapping[str, _Plan] = {
    "alerts": _listed, "alert-state": _in_force, "alert-samples": _samples, "alert-past": _past,
    "alert-tallies": _tallies, "alert-verdicts": _verdicts,
}  # fmt: skip
"""Reads under /api/ for those who pass them to `storage.api.app`."""
