"""Reads of the pages: what stood how long, speeds by place and time, incidents of a window, the evidence of a verdict.

The store groups and counts; every judgement is made by those who ask. All are bounded by an instant, so that their time
goes by the window and not by the length of the history.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

import orjson

from monitor.codec import plain
from monitor.errors import StoreError
from monitor.shape import TRAFFIC
from monitor.types import ANSWERED
from storage.interface import Json, ReadStore
from storage.parameters import Parameters, RefusedError

MOST_CELLS = 100
MOST_BUCKETS = 500
MOST_INCIDENTS = 1000
RUNS_SHOWN = 4
"""Runs of a verdict that its evidence brings: the one that was judged and what was nearest to it."""

_REACH = timedelta(days=40)  # how long before a verdict its runs are looked for
_MARGIN = timedelta(days=1)  # clocks step: a run may seem later than its verdict
_GOOD = ", ".join(f"'{one}'" for one in sorted(ANSWERED))

_SINCE = """
WITH other AS (
    SELECT v.endpoint, v.detector, max(v.at) FILTER (v.status <> l.status) AS other_at
    FROM verdicts v JOIN latest_verdicts l ON l.endpoint = v.endpoint AND l.detector = v.detector
    WHERE v.at >= $since GROUP BY 1, 2
)
SELECT v.endpoint, v.detector, min(v.at) AS since_at, any_value(o.other_at) IS NOT NULL AS changed
FROM verdicts v JOIN other o ON o.endpoint = v.endpoint AND o.detector = v.detector
WHERE v.at >= $since AND (o.other_at IS NULL OR v.at > o.other_at) GROUP BY 1, 2 ORDER BY 1, 2
"""

_RANKED = ("pass", "inconclusive", "suspect", "fail")
_CELLS = """
SELECT v.endpoint, v.detector, (epoch_us(v.at) - epoch_us($since::TIMESTAMPTZ)) // $width AS bucket,
       max(CASE v.status WHEN 'fail' THEN 3 WHEN 'suspect' THEN 2 WHEN 'inconclusive' THEN 1 ELSE 0 END) AS rank,
       avg(v.effect) AS effect
FROM verdicts v WHERE v.at >= $since AND v.at < $until GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""

# ruff: noqa: S608  # only names of our own
_SPOKEN = f"""
SELECT e.at, r.vantage, e.outcome, e.outcome IN ({_GOOD}) AS good,
       if(e.outcome IN ({_GOOD}) AND e.measurement = 'valid', e.ttft_ms, NULL) AS ttft_ms,
       if(e.outcome IN ({_GOOD}) AND e.measurement = 'valid', e.tpot_ms, NULL) AS tpot_ms
FROM exchanges e JOIN (
    SELECT r.run_id, r.vantage FROM runs r
    WHERE r.endpoint = $endpoint AND ($probe::VARCHAR IS NULL OR r.probe = $probe)
      AND r.started_at >= $before AND r.started_at < $until
) r ON r.run_id = e.run_id
WHERE e.endpoint = $endpoint AND e.at >= $since AND e.at < $until
"""

_QUANTILES = "[0.05, 0.25, 0.5, 0.75, 0.95]"

_SPEEDS = f"""
SELECT vantage, make_timestamptz(epoch_us($since::TIMESTAMPTZ) + bucket * $width) AS "at", count(*) AS n,
       count(*) FILTER (good) AS n_good, count(*) FILTER (outcome IN ('timeout_first_byte', 'stalled')) AS n_late,
       count(ttft_ms) AS n_ttft, quantile_cont(ttft_ms, {_QUANTILES}) AS ttft_ms,
       count(tpot_ms) AS n_tpot, quantile_cont(tpot_ms, {_QUANTILES}) AS tpot_ms
FROM (SELECT *, (epoch_us(s.at) - epoch_us($since::TIMESTAMPTZ)) // $width AS bucket FROM ({_SPOKEN}) s)
GROUP BY vantage, bucket ORDER BY vantage, bucket
"""

_BINS = f"""
WITH spoken AS MATERIALIZED ({_SPOKEN})
SELECT vantage, metric, floor(log2(value) * 4) AS bin, count(*) AS n FROM (
    SELECT vantage, 'ttft_ms' AS metric, ttft_ms AS value FROM spoken
    UNION ALL SELECT vantage, 'tpot_ms', tpot_ms FROM spoken
) WHERE value > 0 GROUP BY vantage, metric, bin ORDER BY metric DESC, vantage, bin
"""

_TIMELINE = """
SELECT i.record FROM incidents i
WHERE ($endpoint::VARCHAR IS NULL OR i.endpoint = $endpoint) AND i.opened_at < $until
  AND (i.closed_at IS NULL OR i.closed_at >= $since)
ORDER BY i.opened_at DESC, i.rowid DESC LIMIT $limit
"""

_AGENTS = """
SELECT r.vantage, max(r.finished_at) AS heard_at, arg_max(r.prober_version, r.started_at) AS version,
       count(*) AS n_runs, count(r.lag_ms) AS n_lag, quantile_cont(r.lag_ms, [0.5, 0.95]) AS lag_ms,
       max(r.lag_ms) AS worst_ms
FROM runs r WHERE r.started_at >= $since GROUP BY r.vantage ORDER BY r.vantage
"""

_LAGS = """
SELECT r.vantage, make_timestamptz(epoch_us($since::TIMESTAMPTZ) + (epoch_us(r.started_at)
       - epoch_us($since::TIMESTAMPTZ)) // $width * $width) AS "at", count(r.lag_ms) AS n, median(r.lag_ms) AS value,
       min(r.lag_ms) AS low, max(r.lag_ms) AS high
FROM runs r WHERE r.started_at >= $since AND r.started_at < $until GROUP BY 1, 2 ORDER BY 1, 2
"""

_DAYS = """
SELECT strftime(make_timestamp(day * 86400000000), '%Y-%m-%d') AS "day", tokens_in, tokens_out FROM (
    SELECT epoch_us(e.at) // 86400000000 AS day, coalesce(sum(e.prompt_tokens), 0)::BIGINT AS tokens_in,
           coalesce(sum(e.completion_tokens), 0)::BIGINT AS tokens_out
    FROM exchanges e
    WHERE e.at >= $since AND e.run_id NOT IN (
        SELECT r.run_id FROM runs r WHERE r.probe = $traffic AND r.started_at >= $since::TIMESTAMPTZ - INTERVAL 1 DAY
    ) GROUP BY 1
) ORDER BY 1
"""

_WAITING = "SELECT count(*) AS n, min(u.started_at) AS oldest_at FROM unjudged u"
_DECLARED = "SELECT e.record FROM endpoints e ORDER BY e.endpoint"


class _Database(Protocol):
    """A store that answers SQL of ours, and brings runs back whole."""

    def read(self, sql: str, **parameters: Any) -> list[dict[str, Any]]: ...
    def runs_of(self, run_ids: list[str], *, since: datetime, until: datetime) -> Json: ...


_Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]


def _database(store: Any) -> _Database:
    if not hasattr(store, "runs_of"):
        raise StoreError("this store draws no pictures: use one with a database")
    found: _Database = store
    return found


def _span(since: datetime, until: datetime, buckets: int) -> dict[str, Any]:
    """Both instants, and the width of a bucket in microseconds."""
    if since >= until:
        raise RefusedError(400, "parameter 'since' must be before 'until'")
    return {"since": since, "until": until, "width": max(1, -((since - until) // timedelta(microseconds=1) // buckets))}


def _standings(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Since when every detector says what it says now, and its worst status and mean effect per time bucket."""
    since, until = ask.instant("since"), ask.instant("until")
    buckets = ask.number("buckets", default=14, high=MOST_CELLS)

    def read() -> Json:
        database, span = _database(store), _span(since, until, buckets)
        found = {
            (row["endpoint"], row["detector"]): {**row, "cells": [None] * buckets}
            for row in database.read(_SINCE, since=span["since"])
        }
        for row in database.read(_CELLS, **span):
            one = found.get((row["endpoint"], row["detector"]))
            if one is not None and row["bucket"] < buckets:
                one["cells"][row["bucket"]] = {"status": _RANKED[row["rank"]], "effect": row["effect"]}
        return {"standings": plain(list(found.values()))}

    return read


def _speeds(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """TTFT and TPOT of complete answers by vantage: quantiles over time, and how they are spread over all of it."""
    endpoint, probe, since, until = ask.one_endpoint(), ask.maybe("probe"), ask.instant("since"), ask.instant("until")
    buckets = ask.number("buckets", default=48, high=MOST_BUCKETS)

    def read() -> Json:
        database, span = _database(store), _span(since, until, buckets)
        # Clocks step: a run may seem to begin after its own requests.
        what = {"endpoint": endpoint, "probe": probe, "before": span["since"] - _MARGIN}
        whole = {name: value for name, value in span.items() if name != "width"}
        bins = database.read(_BINS, **what, **whole)
        return {"buckets": plain(database.read(_SPEEDS, **what, **span)), "bins": plain(bins)}

    return read


def _timeline(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Incidents that were open at any time of a window, last opened first."""
    endpoint, since, until = ask.any_endpoint(), ask.instant("since"), ask.instant("until")
    limit = ask.number("limit", default=200, high=MOST_INCIDENTS)

    def read() -> Json:
        rows = _database(store).read(_TIMELINE, endpoint=endpoint, limit=limit, since=since, until=until)
        return {"incidents": [orjson.loads(row["record"]) for row in rows]}

    return read


def _evidence(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """A verdict with the first runs that it rests on, and what the golden side said of them."""
    verdict_id = ask.text("verdict")

    def read() -> Json:
        database, found = _database(store), store.verdict(verdict_id)
        if found is None:
            raise RefusedError(404, f"no verdict {verdict_id[:80]!r}")
        at, ids = datetime.fromisoformat(found["at"]), found["run_ids"][:RUNS_SHOWN]
        return {"verdict": found, **database.runs_of(ids, since=at - _REACH, until=at + _MARGIN)}

    return read


def _instruments(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Agents with their lag, runs that wait for the judge, and how large the store is."""
    since, until = ask.instant("since"), ask.instant("until")
    buckets = ask.number("buckets", default=96, high=MOST_BUCKETS)

    def read() -> Json:
        database, span = _database(store), _span(since, until, buckets)
        found: Json = plain({
            "agents": database.read(_AGENTS, since=span["since"]), "lags": database.read(_LAGS, **span),
            "waiting": database.read(_WAITING)[0], "sizes": store.sizes(), "trouble": store.trouble(),
            "counts": store.counts(),
        })  # fmt: skip
        return found

    return read


def _declared(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    """Endpoints as they were declared, with prices and tags."""
    return lambda: {"declared": [orjson.loads(row["record"]) for row in _database(store).read(_DECLARED)]}


def _spending(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Tokens of probes on each UTC day, as endpoints counted them; real traffic is left out."""
    since = ask.instant("since")
    return lambda: {"days": plain(_database(store).read(_DAYS, since=since, traffic=TRAFFIC))}


PICTURES: Mapping[str, _Plan] = {
    "standings": _standings, "speeds": _speeds, "timeline": _timeline, "evidence": _evidence,
    "instruments": _instruments, "declared": _declared, "spending": _spending,
}  # fmt: skip
"""Reads under /api/ for those who pass them to `storage.api.app`."""
