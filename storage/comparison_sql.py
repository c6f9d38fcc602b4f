"""SQL of the comparison: what happened to some endpoints in a window. Instants are from `since` up to `until`."""

from monitor.types import ANSWERED, NOT_THE_ENDPOINTS_FAULT

MOST_VALUES = 500
"""Newest runs whose numbers are read, per endpoint and metric."""
MOST_SINGLES = 100
"""Newest requests whose numbers are read, per endpoint."""

SERIES = ("ttft_ms_p50", "tps_p50")
"""Metrics of runs that are compared."""

# ruff: noqa: S608  # only names of our own


# Runs from a day before on (clocks step): else all that there are would be looked through. Folded to a constant, which
# the arithmetic of intervals on instants is not.
_NEAR = "r.started_at >= make_timestamptz(epoch_us($since::TIMESTAMPTZ) - 86400000000)"


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"'{one}'" for one in sorted(names))


ENDPOINTS = """
SELECT coalesce(e.endpoint, r.endpoint) AS endpoint, e.record,
       coalesce(e.provider, r.provider) AS provider, coalesce(e.model, r.model) AS model,
       if(e.endpoint IS NULL, r.reference, e.reference) AS reference
FROM endpoints e FULL JOIN latest_runs r ON e.endpoint = r.endpoint
ORDER BY 1
"""

PROBES = """
SELECT r.endpoint, r.probe, r.probe_version, r.params_sha256, r.vantage, r.prober_version, count(*) AS n_runs,
       sum(r.n_exchanges)::BIGINT AS n_exchanges, min(r.started_at) AS first_at, max(r.started_at) AS last_at
FROM runs r
WHERE r.started_at >= $since AND r.started_at < $until AND r.endpoint IN (SELECT unnest($names::VARCHAR[]))
GROUP BY ALL ORDER BY ALL
"""

OUTCOMES = f"""
SELECT e.endpoint, e.outcome, count(*) AS n, coalesce(sum(e.prompt_tokens), 0)::BIGINT AS tokens_in,
       coalesce(sum(e.completion_tokens), 0)::BIGINT AS tokens_out,
       count(*) FILTER (e.outcome IN ({_listed(ANSWERED)})
           AND (e.prompt_tokens IS NULL OR e.completion_tokens IS NULL)) AS n_uncounted
FROM exchanges e
WHERE e.at >= $since AND e.at < $until AND e.endpoint IN (SELECT unnest($names::VARCHAR[]))
GROUP BY 1, 2 ORDER BY 1, 2
"""

# What each endpoint counts for the same questions.
BILLS = f"""
SELECT e.endpoint, r.probe, r.params_sha256, count(*) AS n, sum(e.prompt_tokens)::BIGINT AS tokens_in,
       sum(e.completion_tokens)::BIGINT AS tokens_out
FROM exchanges e JOIN runs r ON r.run_id = e.run_id AND {_NEAR}
WHERE e.at >= $since AND e.at < $until AND e.endpoint IN (SELECT unnest($names::VARCHAR[]))
  AND e.outcome IN ({_listed(ANSWERED)}) AND e.prompt_tokens IS NOT NULL AND e.completion_tokens IS NOT NULL
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""

# Sums over runs, so that the requests of one run need not be taken for independent. Announced maintenance is left out.
TALLIES = f"""
SELECT t.endpoint, count(*) AS n_runs, sum(t.n)::BIGINT AS n, sum(t.good)::BIGINT AS good,
       sum(t.n * t.n)::BIGINT AS nn, sum(t.good * t.good)::BIGINT AS gg, sum(t.n * t.good)::BIGINT AS ng
FROM (
    SELECT e.endpoint, e.run_id, count(*) AS n,
           count(*) FILTER (e.outcome IN ({_listed(ANSWERED)})
               AND NOT (list_contains(e.flags, 'arguments_invalid') AND e.outcome <> 'ok_length')) AS good
    FROM exchanges e
    WHERE e.at >= $since AND e.at < $until AND e.endpoint IN (SELECT unnest($names::VARCHAR[]))
      AND e.outcome NOT IN ({_listed(NOT_THE_ENDPOINTS_FAULT)})
      AND e.run_id NOT IN (SELECT r.run_id FROM runs r WHERE {_NEAR} AND r.record->>'maintenance' IS NOT NULL)
    GROUP BY 1, 2
) t GROUP BY 1 ORDER BY 1
"""

# The newest of each, found in one pass: a window function would sort them all. Of equal instants the largest.
VALUES = f"""
SELECT endpoint, metric, list_transform(newest, lambda x: x.value) AS "values", newest[-1].at AS first_at,
       newest[1].at AS last_at, len(newest) AS n_runs
FROM (
    SELECT o.endpoint, o.metric,
           max(struct_pack("at" := o.at, value := o.value), {MOST_VALUES}) AS newest
    FROM observations o
    WHERE o.at >= $since AND o.at < $until AND o.endpoint IN (SELECT unnest($names::VARCHAR[]))
      AND o.metric IN {SERIES} AND o.source = 'run' AND o.value IS NOT NULL
    GROUP BY 1, 2
) ORDER BY 1, 2
"""

SINGLES = f"""
SELECT e.endpoint, e.at, e.run_id, e.ttft_ms, e.tps, coalesce(e.record->>'reused', '') = 'false' AS fresh
FROM exchanges e JOIN runs r ON r.run_id = e.run_id AND {_NEAR}
WHERE e.at >= $since AND e.at < $until AND e.endpoint IN (SELECT unnest($names::VARCHAR[]))
  AND r.probe = 'speed' AND e.measurement = 'valid' AND e.outcome IN ({_listed(ANSWERED)})
QUALIFY row_number() OVER (PARTITION BY e.endpoint ORDER BY e.at DESC, e.run_id, e.ordinal) <= {MOST_SINGLES}
ORDER BY e.endpoint, e.at, e.run_id, e.ordinal
"""

VERDICTS = """
SELECT v.endpoint, v.record FROM verdicts v
WHERE v.at >= $since AND v.at < $until AND v.endpoint IN (SELECT unnest($names::VARCHAR[]))
QUALIFY row_number() OVER (PARTITION BY v.endpoint, v.detector ORDER BY v.at DESC, v.rowid DESC) = 1
ORDER BY v.endpoint, v.detector
"""

# The same for a window without an end, out of what the store keeps for that.
LATEST_VERDICTS = """
SELECT v.endpoint, v.record FROM latest_verdicts v
WHERE v.at >= $since AND v.endpoint IN (SELECT unnest($names::VARCHAR[]))
ORDER BY v.endpoint, v.detector
"""

# What was before the last pass says nothing about since when something is wrong.
PAST = """
WITH told AS (
    SELECT x.endpoint, x.detector, x.at, x.status, struct_pack(a := x.at, b := x.rowid) AS place FROM verdicts x
    WHERE x.at >= $since AND x.at < $until AND x.endpoint IN (SELECT unnest($names::VARCHAR[]))
), passed AS (
    SELECT endpoint, detector, max(place) AS last FROM told WHERE status = 'pass' GROUP BY 1, 2
)
SELECT t.endpoint, t.detector, any_value(p.last.a) AS last_good_at,
       min(t.at) FILTER (t.status IN ('fail', 'suspect')) AS first_bad_at,
       count(*) FILTER (t.status IN ('fail', 'suspect')) AS n_bad
FROM told t LEFT JOIN passed p ON p.endpoint = t.endpoint AND p.detector = t.detector
WHERE p.last IS NULL OR t.place > p.last
GROUP BY 1, 2 ORDER BY 1, 2
"""

# Which rows first, and only then their records: reading those of all that fit would take most of the time.
FINGERPRINTS = """
SELECT j.endpoint, j.record->'fingerprint' AS record FROM judged j WHERE j.judged_at >= $since AND j.rowid IN (
    SELECT arg_max(k.rowid, struct_pack(a := k.judged_at, b := k.run_id)) FROM judged k
    WHERE k.judged_at >= $since AND k.fingerprint IS NOT NULL AND k.endpoint IN (SELECT unnest($names::VARCHAR[]))
    GROUP BY k.endpoint
)
ORDER BY j.endpoint
"""

EXAMPLES = f"""
WITH picked AS MATERIALIZED (
    SELECT x.rowid AS id FROM exchanges x
    WHERE x.at >= $since AND x.at < $until AND x.endpoint IN (SELECT unnest($names::VARCHAR[]))
      AND (x.outcome NOT IN ({_listed(ANSWERED | NOT_THE_ENDPOINTS_FAULT)})
           OR list_contains(x.flags, 'arguments_invalid'))
    QUALIFY row_number() OVER (PARTITION BY x.endpoint, x.outcome ORDER BY x.at DESC, x.run_id, x.ordinal) <= 4
)
SELECT e.endpoint, r.probe, e.record
FROM exchanges e JOIN picked p ON p.id = e.rowid JOIN runs r ON r.run_id = e.run_id AND {_NEAR}
WHERE e.at >= $since AND e.at < $until
ORDER BY e.endpoint, e.outcome, e.at DESC, e.run_id, e.ordinal
"""

INCIDENTS = """
SELECT i.endpoint, i.record FROM incidents i
WHERE (i.closed_at IS NULL OR i.closed_at >= $since) AND i.opened_at < $until
  AND i.endpoint IN (SELECT unnest($names::VARCHAR[]))
QUALIFY row_number() OVER (PARTITION BY i.endpoint ORDER BY i.opened_at DESC, i.incident_id) <= 50
ORDER BY i.endpoint, i.opened_at DESC, i.incident_id
"""
