"""A store with 90 days of 60 endpoints and planted incidents, made by the database itself in a second or two.

Rows go into the tables of schema 1, as `benchmarks.store_rows` does; opening the file as a store brings them to the
newest schema. What a page opens in depth (`tests.dashboard.rich`) goes in through ingest afterwards.
"""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.codec import encode
from monitor.incident import Incident
from monitor.ports import Entry
from monitor.types import Endpoint
from storage.connection import Database
from storage.migrations import MIGRATIONS
from storage.store import DuckStore
from tests.dashboard import rich, rich_others

DAYS = 90
PROVIDERS = (
    "alder", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "willow",
)  # fmt: skip
MODELS = ("llama-3.3-70b", "qwen3-32b", "deepseek-v3", "mistral-small", "gemma-3-27b")
ENDPOINTS = [f"{provider}/{model}" for provider in PROVIDERS for model in MODELS]

QUANTISED, SLOW, TEMPLATE, TOOLS, ROUTED, BLIND = (
    "cedar/llama-3.3-70b", "fir/qwen3-32b", "hazel/deepseek-v3", "rowan/mistral-small", "willow/gemma-3-27b",
    "pine/llama-3.3-70b",
)  # fmt: skip
OUT = "elm"
"""Provider that was out for two days."""

DETECTORS = ("availability", "accounting", "logprob_fidelity", "fidelity", "speed_shift", "tool_calls")

_MADE = """
CREATE OR REPLACE TEMP TABLE made AS
SELECT printf('%020x', i) AS run_id, list_extract($endpoints, 1 + i % len($endpoints)) AS endpoint,
       ['speed', 'logprobs'][1 + (i // len($endpoints)) % 2] AS probe, i // (2 * len($endpoints)) AS half,
       i // (4 * len($endpoints)) AS d, if((i // (2 * len($endpoints))) % 2 = 0, 'eu-1', 'us-1') AS vantage,
       $start::TIMESTAMPTZ + to_minutes(CAST((i // (2 * len($endpoints))) * 720 + i % len($endpoints) * 7
           + (i // len($endpoints)) % 2 * 3 AS BIGINT)) AS t,
       (hash(i) % 1000) / 1000.0 - 0.5 AS u, i
FROM range($n) r(i);
CREATE OR REPLACE TEMP TABLE told AS
SELECT *, split_part(endpoint, '/', 1) AS provider, split_part(endpoint, '/', 2) AS model,
       split_part(endpoint, '/', 1) = 'elm' AND d BETWEEN 75 AND 76 AS out,
       CASE WHEN endpoint = 'cedar/llama-3.3-70b' AND d >= 60 THEN 0.28 * (1 + 0.3 * u)
            WHEN endpoint = 'willow/gemma-3-27b' AND d >= 70 THEN 0.011 * (1 + 0.8 * u)
            ELSE 0.0009 * (1 + 0.8 * u) END AS kl,
       (150 + 35 * (hash(split_part(endpoint, '/', 1)) % 12) + if(vantage = 'us-1', 80, 0)) * (1 + 0.3 * u)
           * if(endpoint = 'fir/qwen3-32b' AND d >= 85, 2.3, 1) AS ttft,
       (95 - 5 * (hash(split_part(endpoint, '/', 1)) % 12)) * (1 + 0.2 * u) AS tps,
       if(endpoint = 'hazel/deepseek-v3' AND d BETWEEN 40 AND 48, 0, 6) AS k_prompts
FROM made;
"""
_FILL = """
INSERT INTO runs SELECT run_id, endpoint, provider, model, model, probe, 1, repeat('a', 64), vantage, '0.1.0', t,
    t + INTERVAL 20 SECOND, t, 0.4 + abs(u), 3, if(out, 0, 3), json_object('run_id', run_id, 'endpoint', endpoint,
    'provider', provider, 'model', model, 'reference', model, 'probe', probe, 'probe_version', 1, 'params_sha256',
    repeat('a', 64), 'seed', i, 'vantage', vantage, 'prober_version', '0.1.0', 'started_at',
    strftime(t AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ'), 'finished_at',
    strftime((t + INTERVAL 20 SECOND) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ'), 'n_exchanges', 3, 'n_answered',
    if(out, 0, 3)) FROM told;
INSERT INTO exchanges SELECT run_id, run_id || '-' || e, endpoint, e, t + to_seconds(e * 5),
    if(out, 'http_5xx', 'ok'), if(out, 503, 200), 1, if(out, NULL, ttft * (0.9 + e * 0.1)),
    if(out, NULL, 1000 / tps), if(out, NULL, tps), if(out, NULL, 'valid'), if(out, NULL, 420), if(out, NULL, 160), [],
    json_object('exchange_id', run_id || '-' || e, 'run_id', run_id, 'outcome', if(out, 'http_5xx', 'ok'), 'status',
    if(out, 503, 200), 'started_at', strftime((t + to_seconds(e * 5)) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ'),
    'request', json_object('prompt_id', 'p' || e, 'messages', [json_object('role', 'user', 'content',
    'Explain tides.')], 'max_tokens', 160), 'ttft_ms', if(out, NULL, ttft * (0.9 + e * 0.1)), 'tpot_ms',
    if(out, NULL, 1000 / tps), 'tps', if(out, NULL, tps), 'measurement', 'valid', 'choices', if(out, [],
    [json_object('content', 'The moon pulls.', 'finish', 'stop')])) FROM told, range(3) s(e);
INSERT INTO observations SELECT run_id, endpoint, probe, if(m.name IN ('kl_nats', 'prompt_token_match'), 'judged',
    'run'), 0, t, m.name, m.v, m.n, m.k, if(m.v IS NULL, 'nothing was measured', NULL) FROM told, LATERAL (SELECT
    unnest([
        {'name': 'ttft_ms_p50', 'v': if(out, NULL, ttft), 'n': 3, 'k': NULL},
        {'name': 'tps_p50', 'v': if(out, NULL, tps), 'n': 3, 'k': NULL},
        {'name': 'tpot_ms_p50', 'v': if(out, NULL, 1000 / tps), 'n': 3, 'k': NULL},
        {'name': 'success_rate', 'v': if(out, 0, 1), 'n': 3, 'k': if(out, 0, 3)},
        {'name': 'kl_nats', 'v': if(out OR probe = 'speed' OR provider = 'pine', NULL, kl), 'n': 48, 'k': NULL},
        {'name': 'prompt_token_match', 'v': if(out, NULL, k_prompts / 6), 'n': 6, 'k': k_prompts}
    ], recursive := false) AS m);
INSERT INTO slots SELECT endpoint, probe, t, 'done', NULL, run_id FROM told;
INSERT INTO judged SELECT run_id, endpoint, t + INTERVAL 1 MINUTE, repeat('f', 64), json_object('run_id', run_id,
    'endpoint', endpoint, 'judged_at', strftime(t AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ'), 'fingerprint', NULL,
    'views', [], 'observations', []) FROM told;
INSERT INTO verdicts SELECT id, endpoint, detector, 1, "at", status, cause, effect, unit, low, high, n, repeat('f', 64),
    json_object('verdict_id', id, 'endpoint', endpoint, 'detector', detector, 'detector_version', 1, 'at',
    strftime("at" AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ'), 'status', status, 'cause', cause, 'statistic', statistic,
    'effect', effect, 'unit', unit, 'low', low, 'high', high, 'n', n, 'threshold', threshold, 'reason', reason,
    'run_ids', [run_id], 'fingerprint', repeat('f', 64), 'details', details) FROM judgements;
"""
_JUDGEMENTS = """
CREATE OR REPLACE TEMP TABLE judgements AS
SELECT 'v' || run_id || '-' || detector AS id, endpoint, detector, t + INTERVAL 2 MINUTE AS "at", run_id,
       ['availability', 'prompt_token_match', 'kl_nats', 'joint_log_e', 'latency_ratio', 'faulty_answers'][place]
           AS statistic,
       ['share', 'share', 'nats', 'nats', '', 'share'][place] AS unit,
       CASE WHEN blind THEN 'inconclusive' WHEN wrong THEN 'fail'
            WHEN place = 3 AND endpoint = 'willow/gemma-3-27b' AND d >= 70 THEN 'suspect' ELSE 'pass' END AS status,
       CASE WHEN blind THEN 'no_logprobs' WHEN NOT wrong AND NOT (place = 3 AND endpoint = 'willow/gemma-3-27b'
            AND d >= 70) THEN NULL ELSE ['http_5xx', 'template', 'weights', 'weights', 'slower_start',
            'schema'][place] END AS cause,
       CASE WHEN blind THEN NULL ELSE value END AS effect,
       CASE WHEN blind OR place IN (4) THEN NULL WHEN place = 3 THEN value * 0.8 WHEN place = 5 THEN value * 0.9
            ELSE greatest(0, value - 0.06) END AS low,
       CASE WHEN blind OR place IN (4) THEN NULL WHEN place = 3 THEN value * 1.25 WHEN place = 5 THEN value * 1.12
            ELSE least(1, value + 0.03) END AS high,
       if(blind, 0, 48) AS n, [0.95, 1, 0.002, 12.9, 1.5, 0.05][place] AS threshold,
       CASE WHEN blind THEN 'the endpoint returns no logprobs' WHEN wrong THEN 'planted: ' || detector || ' is off'
            ELSE 'within what faithful servers show' END AS reason,
       CASE WHEN place = 3 AND NOT blind THEN '{"pass_nats": 0.002, "fail_nats": 0.02, "top_k": 5}'::JSON
            ELSE '{}'::JSON END AS details
FROM (
    SELECT *, place = 3 AND provider = 'pine' AS blind,
           [out, k_prompts = 0, kl > 0.02, kl > 0.02 AND d >= 62, ttft_off, tools_off][place] AS wrong,
           [if(out, 0, 1), k_prompts / 6, kl, if(kl > 0.02, 14.0 * (d - 60) + 3, 0.4 + u),
            if(ttft_off, 2.3, 1 + 0.1 * u), if(tools_off, 0.38, 0.01)][place] AS value
    FROM (SELECT *, endpoint = 'fir/qwen3-32b' AND d >= 85 AS ttft_off, endpoint = 'rowan/mistral-small' AND d >= 80
          AS tools_off FROM told WHERE probe = 'logprobs' AND half % 2 = 0) x,
         (SELECT unnest($detectors) AS detector, unnest(range(1, 7)) AS place) y
) z
"""


def fill(path: Path, now: datetime) -> None:
    """Make the file of a store at `path` whose newest run was within the last half day before `now`."""
    start = now - timedelta(days=DAYS, minutes=30)
    database = Database(path, MIGRATIONS[:1])
    with database.transaction() as con:
        n = DAYS * 4 * len(ENDPOINTS)
        for statement in _statements(_MADE):
            wanted = {"endpoints": ENDPOINTS, "start": start, "n": n} if "$" in statement else {}
            con.execute(statement, wanted)
        con.execute("DELETE FROM told WHERE t > $now", {"now": now})
        con.execute(_JUDGEMENTS, {"detectors": list(DETECTORS)})
        for statement in _statements(_FILL):
            con.execute(statement)
    database.close()


def _statements(text: str) -> Iterable[str]:
    return filter(None, map(str.strip, text.split(";\n")))


def declared() -> list[Endpoint]:
    """The endpoints with prices: the quantised one is cheap, which is why people would use it."""
    return [
        Endpoint(
            name=name, provider=name.split("/")[0], base_url="http://127.0.0.1:1/v1", model=name.split("/")[1],
            reference=name.split("/")[1], precision="bf16", price_in_usd=round(0.2 + 0.05 * (place % 12), 2),
            price_out_usd=0.25 if name == QUANTISED else round(0.5 + 0.12 * (place % 12), 2),
        )
        for place, name in enumerate(ENDPOINTS)
    ]  # fmt: skip


def incidents(now: datetime) -> list[Incident]:
    """The planted incidents: three open, two closed."""

    def one(number: int, endpoint: str, why: tuple[str, str], opened: float, closed: float | None) -> Incident:
        start, (detector, cause) = now - timedelta(days=DAYS - opened), why
        return Incident(
            incident_id=f"incident-{number}", endpoint=endpoint, detector=detector, cause=cause, opened_at=start,
            last_at=now if closed is None else now - timedelta(days=DAYS - closed), n_verdicts=4,
            closed_at=None if closed is None else now - timedelta(days=DAYS - closed), vantages=("eu-1", "us-1"),
            verdict_id=rich.FIDELITY if detector == "logprob_fidelity" else None,
            reason=f"planted: {cause} at {endpoint}",
        )  # fmt: skip

    return [
        one(1, QUANTISED, ("logprob_fidelity", "weights"), 60.5, None),
        one(2, f"provider {OUT}", ("availability", "http_5xx"), 75, 77),
        one(3, SLOW, ("speed_shift", "slower_start"), 85.5, None),
        one(4, TEMPLATE, ("accounting", "template"), 40, 49),
        one(5, TOOLS, ("tool_calls", "schema"), 80.5, None),
    ]


def fleet(path: Path, now: datetime) -> DuckStore:
    """Return the store, open. Close it."""
    fill(path, now)
    store = DuckStore(path)
    nouns: list[tuple[str, object]] = [
        *(("endpoint", one) for one in declared()), *(("incident", one) for one in incidents(now)),
        *rich.evidence(QUANTISED, "llama-3.3-70b", now), *rich_others.tools(TOOLS, "mistral-small", now),
        *rich_others.capabilities(QUANTISED, now), *rich_others.instrument(ENDPOINTS, now),
    ]  # fmt: skip
    store.ingest("fleet", [Entry(seq, kind, encode(noun)) for seq, (kind, noun) in enumerate(nouns, 1)])
    return store


if __name__ == "__main__":
    fleet(Path(sys.argv[1]), datetime.now(UTC)).close()
