"""Fills a store with synthetic history: 200 endpoints, 6 probes each hour, 8 numbers and 2 exchanges to a run.

The database makes the rows itself, in steps, straight into the tables of schema 1; opening it as a store then brings it
to the newest schema. Records are as long as real ones without their token arrays.
"""

from pathlib import Path

from storage.connection import Database
from storage.migrations import MIGRATIONS

ENDPOINTS = 200
PROBES = ("speed", "logprobs", "greedy", "tools", "context", "sample")
DETECTORS = ("availability", "logprob_fidelity", "greedy_flips", "tool_calls", "long_context", "sampler")
"""What judges the runs of each probe; a tenth of the endpoints fails."""
METRICS = ("ttft_ms_p50", "tps_p50", "success_rate", "ttft_ms_p95", "tokens_out", "tokens_in", "lag_ms", "kl_nats")
PER_RUN = len(METRICS)
PER_HOUR = ENDPOINTS * len(PROBES) * PER_RUN
STEP = 100_000
"""Runs that one statement makes."""

_DRAWN = """
CREATE OR REPLACE TEMP TABLE made AS
SELECT *, strftime(t AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') AS said, i % 10 = 3 AS bad FROM (
    SELECT printf('%020x', i) AS run_id, printf('p%d/model-%d', i % 20, i % $endpoints) AS endpoint,
           printf('p%d', i % 20) AS provider, printf('model-%d', i % $endpoints) AS model,
           1 + (i // $endpoints) % len($probes) AS place,
           TIMESTAMPTZ '2026-01-01 00:00:00+00'
               + to_microseconds(CAST(i * 3600e6 / ($endpoints * len($probes)) AS BIGINT)) AS t, i
    FROM range($first, $last) r(i)
)
"""
_FILL = """
INSERT INTO runs SELECT run_id, endpoint, provider, model, 'golden', list_extract($probes, place), 1, repeat('a', 64),
    'here', '0.1.0', t, t + INTERVAL 2 SECOND, t, 0.5, 2, 2, json_object('run_id', run_id, 'endpoint', endpoint,
    'provider', provider, 'model', model, 'reference', 'golden', 'probe', list_extract($probes, place), 'probe_version',
    1, 'params_sha256', repeat('a', 64), 'seed', i, 'vantage', 'here', 'prober_version', '0.1.0', 'started_at', said,
    'finished_at', said, 'n_exchanges', 2, 'n_answered', 2) FROM made;
INSERT INTO exchanges SELECT run_id, run_id || '-' || e, endpoint, e, t, ended, 200, 1, 40 + random() * 20, 10, 100,
    'valid', 200, 64, [], json_object('exchange_id', run_id || '-' || e, 'run_id', run_id, 'started_at', said,
    'request', json_object('prompt_id', 'p' || e, 'messages', [json_object('role', 'user', 'content',
    repeat('The quick brown fox. ', 18))], 'max_tokens', 64), 'outcome', ended, 'status', 200, 'choices',
    [json_object('content', repeat(md5(run_id), 6), 'finish', 'stop')], 'models', [model], 'request_id',
    md5(endpoint || i), 'ttft_ms', 40 + random() * 20, 'measurement', 'valid')
    FROM (SELECT *, if(hash(i) % 50 = 0, 'stalled', 'ok') AS ended FROM made), range(2) s(e);
INSERT INTO observations SELECT run_id, endpoint, list_extract($probes, place), if(m < 7, 'run', 'judged'), m, t,
    list_extract($metrics, 1 + m), if(random() < 0.01, NULL, 50 + 10 * random()), 10, NULL, NULL
    FROM made, range(8) s(m);
INSERT INTO slots SELECT endpoint, list_extract($probes, place), t, 'done', NULL, run_id FROM made;
INSERT INTO judged SELECT run_id, endpoint, t + INTERVAL 1 MINUTE, repeat('f', 64), json_object('run_id', run_id,
    'endpoint', endpoint, 'judged_at', said, 'fingerprint', NULL, 'views', [], 'observations', []) FROM made;
INSERT INTO verdicts SELECT 'v' || run_id, endpoint, list_extract($detectors, place), 1, t, if(bad, 'fail', 'pass'),
    if(bad, 'weights', NULL), 0.004 + bad::INT, 'nats', 0.002 + bad::INT, 0.006 + bad::INT, 40, repeat('f', 64),
    json_object('verdict_id', 'v' || run_id, 'endpoint', endpoint, 'detector', list_extract($detectors, place),
    'detector_version', 1, 'at', said, 'status', if(bad, 'fail', 'pass'), 'cause', if(bad, 'weights', NULL),
    'statistic', 'kl_nats', 'effect', 0.004 + bad::INT, 'unit', 'nats', 'low', 0.002 + bad::INT,
    'high', 0.006 + bad::INT, 'n', 40, 'threshold', 0.01, 'reason', repeat(md5(run_id), 4), 'run_ids', [run_id],
    'fingerprint', repeat('f', 64), 'details', json_object()) FROM made;
"""
_ENDPOINTS = """
INSERT INTO endpoints SELECT name, split_part(name, '/', 1), split_part(name, '/', 2), 'golden', 'bf16',
    json_object('name', name, 'provider', split_part(name, '/', 1), 'base_url', 'http://127.0.0.1:1/v1', 'model',
    split_part(name, '/', 2), 'reference', 'golden', 'precision', 'bf16', 'price_in_usd', 0.1 + 0.01 * (i % 30),
    'price_out_usd', 0.4 + 0.02 * (i % 30))
    FROM (SELECT printf('p%d/model-%d', i % 20, i) AS name, i FROM range($endpoints) r(i))
"""


_NAMES = {"metrics": list(METRICS), "probes": list(PROBES), "detectors": list(DETECTORS)}


def fill(path: Path, observations: int) -> None:
    """Make a store file of schema 1 with that many observations at `path`."""
    database = Database(path, MIGRATIONS[:1])
    runs = observations // PER_RUN
    drawn = {"endpoints": ENDPOINTS, "probes": list(PROBES)}
    with database.transaction() as con:
        con.execute(_ENDPOINTS, {"endpoints": ENDPOINTS})
    for first in range(0, runs, STEP):
        with database.transaction() as con:
            con.execute(_DRAWN, {**drawn, "first": first, "last": min(runs, first + STEP)})
            for statement in filter(None, map(str.strip, _FILL.split(";"))):
                con.execute(statement, {name: names for name, names in _NAMES.items() if f"${name}" in statement})
    database.close()
