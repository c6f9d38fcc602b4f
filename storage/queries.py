"""SQL of the reads. Parameters are named and typed; None means "any". Newest first, ties by arrival."""

from storage.interface import TABLES

MARK = "SELECT coalesce(max(w.mark), 0) AS mark FROM writers w WHERE w.writer = $writer"

KNOWS = """
SELECT EXISTS (SELECT 1 FROM endpoints e WHERE e.endpoint = $endpoint)
    OR EXISTS (SELECT 1 FROM latest_runs r WHERE r.endpoint = $endpoint)
    OR EXISTS (SELECT 1 FROM latest_slots s WHERE s.endpoint = $endpoint)
    OR EXISTS (SELECT 1 FROM latest_verdicts v WHERE v.endpoint = $endpoint) AS known
"""

# What was declared; for endpoints that only ran, what their latest run said.
ENDPOINTS = """
SELECT coalesce(e.endpoint, r.endpoint) AS endpoint,
       if(e.endpoint IS NULL, r.provider, e.provider) AS provider,
       if(e.endpoint IS NULL, r.model, e.model) AS model,
       if(e.endpoint IS NULL, r.reference, e.reference) AS reference,
       e.precision, r.started_at AS last_run_at
FROM endpoints e FULL JOIN latest_runs r ON e.endpoint = r.endpoint
ORDER BY 1
"""

LATEST_VERDICTS = "SELECT v.endpoint, v.record FROM latest_verdicts v ORDER BY v.endpoint, v.detector"

LATEST_METRICS = """
SELECT o.endpoint, o.metric, o.value, o.n, o.k, o.reason, o.at FROM latest_observations o
ORDER BY o.endpoint, o.metric
"""

INCIDENTS = """
SELECT i.endpoint, i.record FROM incidents i
WHERE ($endpoint::VARCHAR IS NULL OR i.endpoint = $endpoint) AND NOT ($open_only AND i.closed_at IS NOT NULL)
ORDER BY i.opened_at DESC, i.rowid DESC
"""

SPAN = """
SELECT epoch_us(o.first_at) AS first, epoch_us(o.at) AS last FROM latest_observations o
WHERE o.endpoint = $endpoint AND o.metric = $metric
"""

LAST_RUN = "SELECT r.started_at FROM latest_runs r WHERE r.endpoint = $endpoint"

SERIES = """
SELECT make_timestamptz($since + bucket * $width) AS at, median(value) AS value, min(value) AS low,
       max(value) AS high, count(value) AS n
FROM (
    SELECT (epoch_us(o.at) - $since) // $width AS bucket, o.value
    FROM observations o
    WHERE o.endpoint = $endpoint AND o.metric = $metric
      AND o.at >= make_timestamptz($since) AND o.at < make_timestamptz($until)
)
GROUP BY bucket ORDER BY bucket
"""

VERDICTS = """
SELECT v.record FROM verdicts v
WHERE ($endpoint::VARCHAR IS NULL OR v.endpoint = $endpoint)
  AND ($detector::VARCHAR IS NULL OR v.detector = $detector)
ORDER BY v.at DESC, v.rowid DESC LIMIT $limit
"""

VERDICT = "SELECT v.record FROM verdicts v WHERE v.verdict_id = $verdict_id ORDER BY v.at DESC, v.rowid DESC LIMIT 1"

EXCHANGES = """
SELECT e.run_id, e.at, e.record FROM exchanges e
WHERE e.endpoint = $endpoint AND e.at >= $since AND ($outcome::VARCHAR IS NULL OR e.outcome = $outcome)
ORDER BY e.at DESC, e.rowid DESC LIMIT $limit
"""

GOLDEN_TOKENS = """
SELECT view.exchange_id AS exchange_id, view.completion_tokens AS n FROM (
    SELECT unnest(from_json(j.record->'views', '[{"exchange_id": "VARCHAR", "completion_tokens": "BIGINT"}]')) AS view
    FROM judged j WHERE j.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND j.judged_at >= $since
)
WHERE view.completion_tokens IS NOT NULL
"""

SLOTS = """
SELECT s.endpoint, s.probe, s.slot_at, s.state, s.reason, s.run_id, s.vantage FROM slots s
WHERE ($endpoint::VARCHAR IS NULL OR s.endpoint = $endpoint)
  AND ($since::TIMESTAMPTZ IS NULL OR s.slot_at >= $since)
ORDER BY s.slot_at DESC, s.rowid DESC LIMIT $limit
"""

COVERAGE = """
SELECT s.endpoint, s.probe, s.state, split_part(s.reason, ':', 1) AS reason, count(*) AS n, max(s.slot_at) AS last_at
FROM slots s WHERE $since::TIMESTAMPTZ IS NULL OR s.slot_at >= $since
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 NULLS FIRST
"""

SPENT = """
SELECT e.endpoint, coalesce(sum(e.prompt_tokens), 0)::BIGINT AS tokens_in,
       coalesce(sum(e.completion_tokens), 0)::BIGINT AS tokens_out,
       count(*) FILTER (e.outcome IN ('ok', 'ok_length') AND (e.prompt_tokens IS NULL OR e.completion_tokens IS NULL))
           AS n_uncounted
FROM exchanges e
WHERE ($since::TIMESTAMPTZ IS NULL OR e.at >= $since) AND e.run_id NOT IN (
    SELECT r.run_id FROM runs r
    WHERE r.probe = $traffic
      AND ($since::TIMESTAMPTZ IS NULL OR r.started_at >= $since::TIMESTAMPTZ - INTERVAL 1 DAY)
)
GROUP BY 1 ORDER BY 1
"""

LAST_SLOTS = """
SELECT s.endpoint, s.probe, max(s.slot_at) AS slot_at FROM latest_slots s
WHERE $vantage::VARCHAR IS NULL OR s.vantage IS NULL OR s.vantage = $vantage
GROUP BY s.endpoint, s.probe ORDER BY 1, 2
"""

RUNS = """
SELECT r.run_id, r.started_at, r.finished_at, r.record FROM runs r
WHERE r.endpoint = $endpoint AND r.started_at >= $since AND ($probe::VARCHAR IS NULL OR r.probe = $probe)
ORDER BY r.started_at DESC, r.rowid DESC LIMIT $limit
"""

UNJUDGED = """
SELECT u.run_id, u.started_at FROM unjudged u ORDER BY u.started_at, u.rowid LIMIT $limit
"""

RUNS_BY_ID = """
SELECT r.run_id, r.started_at, r.finished_at, r.record FROM runs r
WHERE r.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND r.started_at BETWEEN $since AND $until
"""

# The instants let the database skip all but the blocks of about that time.
EXCHANGES_OF_RUNS = """
SELECT e.run_id, e.record FROM exchanges e
WHERE e.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND e.at BETWEEN $since AND $until
ORDER BY e.run_id, e.ordinal
"""

OBSERVATIONS_OF_RUNS = """
SELECT o.run_id, o.metric, o.value, o.n, o.k, o.reason FROM observations o
WHERE o.source = 'run' AND o.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND o.at BETWEEN $since AND $until
ORDER BY o.run_id, o.ordinal
"""

JUDGED_OF_RUNS = """
SELECT j.run_id, j.judged_at, j.record FROM judged j
WHERE j.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND j.judged_at >= $since
"""

LAST_RUNS = """
SELECT r.endpoint, r.started_at, r.vantage, r.lag_ms, r.n_exchanges, r.n_answered FROM latest_runs r ORDER BY 1
"""

COUNTS = " UNION ALL ".join(
    f"SELECT '{table}' AS name, (SELECT count(*) FROM {table}) + (SELECT coalesce(sum(f.n_rows), 0) FROM files f "  # noqa: S608
    f"WHERE f.kind IN ('{table}', '{table}-failed')) AS n"
    for table in TABLES
)

EVIDENCE_BYTES = "SELECT coalesce(sum(f.n_bytes), 0) AS n FROM files f"
