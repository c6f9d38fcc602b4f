"""The schema, as ordered steps. Each runs in a transaction together with its record, then a checkpoint.

Rules, each paid for by somebody: no function-call defaults (a crash before the checkpoint then loses the file on
DuckDB 1.5), no indexes or primary keys on fact tables (slow, large, and in the way of later steps; idempotency comes
from the writers' marks), no edits to a step that was released. ``"at"`` is a keyword: quoted here, qualified in reads.
"""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

import duckdb

from monitor.errors import StoreError
from storage import agents, alerts

log = logging.getLogger(__name__)

_V1 = """
CREATE TABLE writers (writer VARCHAR, mark BIGINT);
CREATE TABLE endpoints (
    endpoint VARCHAR, provider VARCHAR, model VARCHAR, reference VARCHAR, precision VARCHAR, record JSON
);
CREATE TABLE runs (
    run_id VARCHAR, endpoint VARCHAR, provider VARCHAR, model VARCHAR, reference VARCHAR, probe VARCHAR,
    probe_version BIGINT, params_sha256 VARCHAR, vantage VARCHAR, prober_version VARCHAR,
    started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, slot_at TIMESTAMPTZ,
    lag_ms DOUBLE, n_exchanges BIGINT, n_answered BIGINT, record JSON
);
CREATE TABLE exchanges (
    run_id VARCHAR, exchange_id VARCHAR, endpoint VARCHAR, ordinal BIGINT, "at" TIMESTAMPTZ,
    outcome VARCHAR, status BIGINT, attempt BIGINT, ttft_ms DOUBLE, tpot_ms DOUBLE, tps DOUBLE, measurement VARCHAR,
    prompt_tokens BIGINT, completion_tokens BIGINT, flags VARCHAR[], record JSON
);
CREATE TABLE observations (
    run_id VARCHAR, endpoint VARCHAR, probe VARCHAR, source VARCHAR, ordinal BIGINT, "at" TIMESTAMPTZ,
    metric VARCHAR, value DOUBLE, n BIGINT, k BIGINT, reason VARCHAR
);
CREATE TABLE slots (
    endpoint VARCHAR, probe VARCHAR, slot_at TIMESTAMPTZ, state VARCHAR, reason VARCHAR, run_id VARCHAR
);
CREATE TABLE judged (
    run_id VARCHAR, endpoint VARCHAR, judged_at TIMESTAMPTZ, fingerprint VARCHAR, record JSON
);
CREATE TABLE verdicts (
    verdict_id VARCHAR, endpoint VARCHAR, detector VARCHAR, detector_version BIGINT, "at" TIMESTAMPTZ,
    status VARCHAR, cause VARCHAR, effect DOUBLE, unit VARCHAR, low DOUBLE, high DOUBLE, n BIGINT,
    fingerprint VARCHAR, record JSON
);
CREATE TABLE incidents (
    incident_id VARCHAR, endpoint VARCHAR, detector VARCHAR, cause VARCHAR,
    opened_at TIMESTAMPTZ, last_at TIMESTAMPTZ, closed_at TIMESTAMPTZ, record JSON
);
CREATE TABLE rejected (writer VARCHAR, seq BIGINT, kind VARCHAR, reason VARCHAR, data VARCHAR);
"""

# Token arrays and captures in tables of their own, from where they move into Parquet files (storage/evidence.py), and
# what is newest of everything (storage/latest.py). Records of schema 1 keep their arrays inside.
_V2 = """
CREATE TABLE tokens (
    exchange_id VARCHAR, run_id VARCHAR, endpoint VARCHAR, "at" TIMESTAMPTZ, source VARCHAR, data VARCHAR
);
CREATE TABLE captures (
    exchange_id VARCHAR, run_id VARCHAR, endpoint VARCHAR, "at" TIMESTAMPTZ, answered BOOLEAN, capture VARCHAR
);
CREATE TABLE files (
    name VARCHAR, kind VARCHAR, "day" DATE, n_rows BIGINT, n_bytes BIGINT, first_at TIMESTAMPTZ, last_at TIMESTAMPTZ
);
CREATE TABLE latest_runs AS
    SELECT r.endpoint, r.started_at, r.provider, r.model, r.reference, r.vantage, r.lag_ms, r.n_exchanges, r.n_answered
    FROM runs r WHERE r.rowid IN (
        SELECT arg_max(s.rowid, struct_pack(a := s.started_at, b := s.rowid)) FROM runs s GROUP BY s.endpoint
    );
CREATE TABLE latest_observations AS
    WITH last AS (
        SELECT arg_max(s.rowid, struct_pack(a := s."at", b := s.rowid)) AS id, min(s."at") AS first_at
        FROM observations s GROUP BY s.endpoint, s.metric
    )
    SELECT o.endpoint, o.metric, last.first_at, o."at", o.value, o.n, o.k, o.reason
    FROM observations o JOIN last ON o.rowid = last.id;
CREATE TABLE latest_verdicts AS
    SELECT v.endpoint, v.detector, v."at", v.status, v.record
    FROM verdicts v WHERE v.rowid IN (
        SELECT arg_max(s.rowid, struct_pack(a := s."at", b := s.rowid)) FROM verdicts s GROUP BY s.endpoint, s.detector
    );
CREATE TABLE latest_slots AS
    SELECT s.endpoint, s.probe, s.slot_at, s.state, s.reason
    FROM slots s WHERE s.rowid IN (
        SELECT arg_max(t.rowid, struct_pack(a := t.slot_at, b := t.rowid)) FROM slots t GROUP BY t.endpoint, t.probe
    );
CREATE TABLE unjudged AS
    SELECT r.run_id, r.probe, r.started_at FROM runs r
    WHERE NOT EXISTS (SELECT 1 FROM judged j WHERE j.run_id = r.run_id)
    ORDER BY r.started_at, r.rowid;
"""

# Where the agent was: regions share a store, and each has slots of its own.
_V3 = """
ALTER TABLE slots ADD COLUMN vantage VARCHAR;
ALTER TABLE latest_slots ADD COLUMN vantage VARCHAR;
"""

# Which run was refused, for captures of it that come later; and since when it lies there, for its end.
_V5 = """
ALTER TABLE rejected ADD COLUMN run_id VARCHAR;
ALTER TABLE rejected ADD COLUMN "at" TIMESTAMPTZ;
"""

MIGRATIONS: tuple[str, ...] = (_V1, _V2, _V3, alerts.SCHEMA, _V5, agents.SCHEMA, agents.BY_SPOOL)
"""Step i brings a file from schema i to schema i + 1."""


def version_of(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Return the schema of the open database at `path`; 0 when it is empty. Raises StoreError when it is not ours."""
    tables = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables:
        return 0
    if "schema_migrations" not in tables:
        raise StoreError(f"{path} is a DuckDB file but not Weighmaster's: choose another path")
    rows = con.execute("SELECT coalesce(max(version), 0) FROM schema_migrations").fetchall()
    return int(rows[0][0])


def _step(con: duckdb.DuckDBPyConnection, version: int, statements: str) -> None:
    con.execute("BEGIN")
    try:
        con.execute("CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT)")
        con.execute(statements)
        con.execute("INSERT INTO schema_migrations VALUES (?)", [version])
        con.execute("COMMIT")
    except duckdb.Error:
        con.execute("ROLLBACK")
        raise


def migrate(con: duckdb.DuckDBPyConnection, path: Path, steps: Sequence[str] = MIGRATIONS) -> None:
    """Bring the open database at `path` to the newest schema.

    An existing file is copied to ``<path>.schema<version>.bak`` first.

    Raises
    ------
    StoreError
        When the file is of a newer schema than this program knows, or is not ours.
    """
    version = version_of(con, path)
    if version > len(steps):
        raise StoreError(
            f"{path} has schema {version}, but this Weighmaster knows only up to {len(steps)}: update Weighmaster, or "
            f"go back to a copy from before ({path}.schema*.bak)"
        )
    if 0 < version < len(steps):
        con.execute("CHECKPOINT")  # a copy without it would miss what is still in the write-ahead log
        copy = path.with_name(f"{path.name}.schema{version}.bak")
        shutil.copy2(path, copy)
        log.info("%s: schema %d becomes %d; a copy from before stays in %s", path, version, len(steps), copy)
    for number, statements in enumerate(steps[version:], version + 1):
        _step(con, number, statements)
        if version:
            con.execute("CHECKPOINT")
    if not version:
        con.execute("CHECKPOINT")
