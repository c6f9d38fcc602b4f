"""Fills a store with synthetic history: 200 endpoints, 6 probes each hour, 8 numbers and 2 exchanges to a run.

The database makes the rows itself, in steps, straight into the tables of schema 1; opening it as a store then brings it
to the newest schema. Records are as long as real ones without their token arrays.
"""

from pathlib import Path

from storage.connection import Database
from storage.migrations import MIGRATIONS

ENDPOINTS = 200
PROBES = ("speed", "logprobs", "greedy", "tools", "context", "sample")
METRICS = ("ttft_ms_p50", "tps_p50", "success_rate", "ttft_ms_p95", "tokens_out", "tokens_in", "lag_ms", "kl_nats")
PER_RUN = len(METRICS)
PER_HOUR = ENDPOINTS * len(PROBES) * PER_RUN
STEP = 100_000
"""Runs that one statement makes."""

_DRAWN = """
CREATE OR REPLACE TEMP TABLE made AS
SELECT printf('%020x', i) AS run_id, printf('p%d/model-%d', i % 20, i % $endpoints) AS endpoint,
       printf('p%d', i % 20) AS provider, printf('model-%d', i % $endpoints) AS model,
       list_extract($probes, 1 + (i // $endpoints) % len($probes)) AS probe,
       TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_microseconds(CAST(i * 3600e6 / ($endpoints * len($probes)) AS BIGINT))
           AS t, i
FROM range($first, $last) r(i)
"""
_FILL = """
INSERT INTO runs SELECT run_id, endpoint, provider, model, 'golden', probe, 1, repeat('a', 64), 'here', '0.1.0', t,
    t + INTERVAL 2 SECOND, t, 0.5, 2, 2, json_object('run_id', run_id, 'endpoint', endpoint, 'provider', provider,
    'model', model, 'probe', probe, 'seed', i, 'params_sha256', repeat('a', 64), 'started_at', t) FROM made;
INSERT INTO exchanges SELECT run_id, run_id || '-' || e, endpoint, e, t, if(i % 50 = 0, 'stalled', 'ok'), 200, 1,
    40 + random() * 20, 10, 100, 'valid', 200, 64, [], json_object('exchange_id', run_id || '-' || e, 'run_id', run_id,
    'request', json_object('prompt_id', 'p' || e, 'messages', repeat('The quick brown fox. ', 20)), 'protocol',
    'openai_chat', 'sent_sha256', md5(run_id) || md5(run_id || e), 'outcome', 'ok', 'content', repeat(md5(run_id), 6),
    'models', model, 'request_id', md5(endpoint || i), 'ttft_ms', 40 + random() * 20, 'flags', []) FROM made,
    range(2) s(e);
INSERT INTO observations SELECT run_id, endpoint, probe, if(m < 7, 'run', 'judged'), m, t,
    list_extract($metrics, 1 + m), if(random() < 0.01, NULL, 50 + 10 * random()), 10, NULL, NULL
    FROM made, range(8) s(m);
INSERT INTO slots SELECT endpoint, probe, t, 'done', NULL, run_id FROM made;
INSERT INTO judged SELECT run_id, endpoint, t + INTERVAL 1 MINUTE, repeat('f', 64), json_object('run_id', run_id,
    'endpoint', endpoint, 'judged_at', t, 'views', [], 'observations', repeat(md5(run_id), 8)) FROM made;
INSERT INTO verdicts SELECT 'v' || run_id, endpoint, probe, 1, t, 'pass', NULL, 0.004, 'nats', 0.002, 0.006, 40,
    repeat('f', 64), json_object('verdict_id', 'v' || run_id, 'endpoint', endpoint, 'detector', probe, 'status', 'pass',
    'reason', repeat(md5(run_id), 8), 'run_ids', [run_id]) FROM made;
"""
_ENDPOINTS = """
INSERT INTO endpoints SELECT printf('p%d/model-%d', i % 20, i), printf('p%d', i % 20), printf('model-%d', i), 'golden',
    'bf16', '{}' FROM range($endpoints) r(i)
"""


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
                wanted = {"metrics": list(METRICS)} if "$metrics" in statement else {}
                con.execute(statement, wanted)
    database.close()
