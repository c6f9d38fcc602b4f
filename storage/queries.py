"""All SQL of the reads. Parameters are named and typed; None means "any". Newest first, ties by arrival."""

MARK = "SELECT coalesce(max(w.mark), 0) AS mark FROM writers w WHERE w.writer = $writer"

KNOWS = """
SELECT EXISTS (SELECT 1 FROM endpoints e WHERE e.endpoint = $endpoint)
    OR EXISTS (SELECT 1 FROM runs r WHERE r.endpoint = $endpoint)
    OR EXISTS (SELECT 1 FROM slots s WHERE s.endpoint = $endpoint)
    OR EXISTS (SELECT 1 FROM verdicts v WHERE v.endpoint = $endpoint) AS known
"""

# What was declared; for endpoints that only ran, what their latest run said.
ENDPOINTS = """
WITH ran AS (
    SELECT r.endpoint, max(r.started_at) AS last_run_at, arg_max(
        struct_pack(provider := r.provider, model := r.model, reference := r.reference), r.started_at
    ) AS last
    FROM runs r GROUP BY r.endpoint
)
SELECT coalesce(e.endpoint, ran.endpoint) AS endpoint,
       if(e.endpoint IS NULL, ran.last.provider, e.provider) AS provider,
       if(e.endpoint IS NULL, ran.last.model, e.model) AS model,
       if(e.endpoint IS NULL, ran.last.reference, e.reference) AS reference,
       e.precision, ran.last_run_at
FROM endpoints e FULL JOIN ran ON e.endpoint = ran.endpoint
ORDER BY 1
"""

LATEST_VERDICTS = """
SELECT v.endpoint, v.record FROM verdicts v
QUALIFY row_number() OVER (PARTITION BY v.endpoint, v.detector ORDER BY v.at DESC, v.rowid DESC) = 1
ORDER BY v.endpoint, v.detector
"""

LATEST_METRICS = """
SELECT endpoint, metric, last.value AS value, last.n AS n, last.k AS k, last.reason AS reason, last.at AS at
FROM (
    SELECT o.endpoint, o.metric, arg_max(
        struct_pack(value := o.value, n := o.n, k := o.k, reason := o.reason, "at" := o.at),
        struct_pack("at" := o.at, arrival := o.rowid)
    ) AS last
    FROM observations o GROUP BY o.endpoint, o.metric
)
ORDER BY endpoint, metric
"""

INCIDENTS = """
SELECT i.endpoint, i.record FROM incidents i
WHERE ($endpoint::VARCHAR IS NULL OR i.endpoint = $endpoint) AND NOT ($open_only AND i.closed_at IS NOT NULL)
ORDER BY i.opened_at DESC, i.rowid DESC
"""

SPAN = """
SELECT epoch_us(min(o.at)) AS first, epoch_us(max(o.at)) AS last FROM observations o
WHERE o.endpoint = $endpoint AND o.metric = $metric
"""

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
SELECT e.run_id, e.record FROM exchanges e
WHERE e.endpoint = $endpoint AND ($outcome::VARCHAR IS NULL OR e.outcome = $outcome)
ORDER BY e.at DESC, e.rowid DESC LIMIT $limit
"""

GOLDEN_TOKENS = """
SELECT view.exchange_id AS exchange_id, view.completion_tokens AS n FROM (
    SELECT unnest(from_json(j.record->'views', '[{"exchange_id": "VARCHAR", "completion_tokens": "BIGINT"}]')) AS view
    FROM judged j WHERE j.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
)
WHERE view.completion_tokens IS NOT NULL
"""

SLOTS = """
SELECT s.endpoint, s.probe, s.slot_at, s.state, s.reason, s.run_id FROM slots s
WHERE ($endpoint::VARCHAR IS NULL OR s.endpoint = $endpoint)
  AND ($since::TIMESTAMPTZ IS NULL OR s.slot_at >= $since)
ORDER BY s.slot_at DESC, s.rowid DESC LIMIT $limit
"""

LAST_SLOTS = """
SELECT s.endpoint, s.probe, max(s.slot_at) AS slot_at FROM slots s GROUP BY s.endpoint, s.probe ORDER BY 1, 2
"""

RUNS = """
SELECT r.run_id, r.record FROM runs r
WHERE r.endpoint = $endpoint AND ($probe::VARCHAR IS NULL OR r.probe = $probe)
ORDER BY r.started_at DESC, r.rowid DESC LIMIT $limit
"""

UNJUDGED = """
SELECT r.run_id, r.record FROM runs r
WHERE NOT EXISTS (SELECT 1 FROM judged j WHERE j.run_id = r.run_id)
ORDER BY r.started_at, r.rowid LIMIT $limit
"""

EXCHANGES_OF_RUNS = """
SELECT e.run_id, e.record FROM exchanges e
WHERE e.run_id IN (SELECT unnest($run_ids::VARCHAR[])) ORDER BY e.run_id, e.ordinal
"""

OBSERVATIONS_OF_RUNS = """
SELECT o.run_id, o.metric, o.value, o.n, o.k, o.reason FROM observations o
WHERE o.source = 'run' AND o.run_id IN (SELECT unnest($run_ids::VARCHAR[])) ORDER BY o.run_id, o.ordinal
"""

JUDGED_OF_RUNS = """
SELECT j.run_id, j.record FROM judged j WHERE j.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
"""
