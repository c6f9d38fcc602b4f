"""The schema, as ordered steps. Each runs in a transaction together with its record, then a checkpoint.

Rules, each paid for by somebody: no function-call defaults (a crash before the checkpoint then loses the file on
DuckDB 1.5), no indexes or primary keys on fact tables (slow, large, and in the way of later steps; idempotency comes
from the writers' marks), no edits to a step that was released. ``"at"`` is a keyword: quoted here, qualified in reads.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import duckdb

from monitor.errors import StoreError

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

MIGRATIONS: tuple[str, ...] = (_V1,)
"""Step i brings a file from schema i to schema i + 1."""


def _version(con: duckdb.DuckDBPyConnection, path: Path) -> int:
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
    con.execute("CHECKPOINT")


def migrate(con: duckdb.DuckDBPyConnection, path: Path, steps: Sequence[str] = MIGRATIONS) -> None:
    """Bring the open database at `path` to the newest schema.

    An existing file is copied to ``<path>.schema<version>.bak`` first.

    Raises
    ------
    StoreError
        When the file is of a newer schema than this program knows, or is not ours.
    """
    version = _version(con, path)
    if version > len(steps):
        raise StoreError(
            f"{path} has schema {version}, but this Weighmaster knows only up to {len(steps)}: update Weighmaster, or "
            f"go back to a copy from before ({path}.schema*.bak)"
        )
    if 0 < version < len(steps):
        con.execute("CHECKPOINT")  # a copy without it would miss what is still in the write-ahead log
        shutil.copy2(path, f"{path}.schema{version}.bak")
    for number, statements in enumerate(steps[version:], version + 1):
        _step(con, number, statements)
