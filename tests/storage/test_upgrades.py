"""Files of every released schema. Oracle: what the version that wrote them had been given (tests/storage/schemas)."""

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pytest

from monitor.codec import decode, encode, plain
from monitor.incident import Incident
from monitor.results import JudgedRun, RunRecord, Verdict
from storage.migrations import MIGRATIONS
from storage.store import DuckStore
from tests.storage import write_schema
from tests.storage.asks import put
from tests.storage.factories import (
    endpoint,
    incident,
    judged,
    minutes,
    run_record,
    slot,
    verdict,
)
from tests.storage.write_schema import FIRST, SECOND

T = TypeVar("T")

SCHEMAS = Path(__file__).with_name("schemas")
RELEASED = sorted(int(path.stem) for path in SCHEMAS.glob("*.sql"))


def _made(schema: int, path: Path) -> Path:
    with duckdb.connect(path, config={"storage_compatibility_version": "v1.5.0"}) as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute((SCHEMAS / f"{schema}.sql").read_text(encoding="utf-8"))
    return path


def test_there_is_a_file_of_every_schema_that_was_released() -> None:
    assert list(range(1, max(RELEASED) + 1)) == RELEASED
    assert max(RELEASED) <= len(MIGRATIONS)


def _nouns(kind: type[T], found: list[Any]) -> list[T]:
    """As nouns: fields that came later have their defaults."""
    return [decode(kind, encode(one)) for one in found]


@pytest.fixture(params=RELEASED)
def schema(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def old(tmp_path: Path, schema: int, caplog: pytest.LogCaptureFixture) -> Iterator[DuckStore]:
    with caplog.at_level(logging.INFO), closing(DuckStore(_made(schema, tmp_path / "old.duckdb"))) as store:
        yield store


def test_a_copy_from_before_stays_and_the_log_says_so(
    old: DuckStore, schema: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = tmp_path / f"old.duckdb.schema{schema}.bak"
    said = " ".join(record.getMessage() for record in caplog.get_records("setup"))
    assert f"schema {schema} becomes {len(MIGRATIONS)}; a copy from before stays in {copy}" in said
    with duckdb.connect(copy, read_only=True) as con:
        assert con.execute("SELECT max(version) FROM schema_migrations").fetchall() == [(schema,)]
        assert con.execute("SELECT count(*) FROM runs").fetchall() == [(old.counts()["runs"],)]


def test_an_old_file_answers_as_before(old: DuckStore) -> None:
    found = old.runs("lab/faithful", None, limit=9)
    assert _nouns(RunRecord, found["records"]) == [SECOND, FIRST]
    assert _nouns(JudgedRun, found["judged"]) == [judged(FIRST)]
    assert [one["run"]["run_id"] for one in old.unjudged(limit=9)["records"]] == ["r2"]
    degraded, faithful = old.overview()["endpoints"]
    assert _nouns(Incident, degraded["incidents"]) == [incident()]
    worst = verdict("verdict-2", at=minutes(6), status="fail", cause="weights")
    assert _nouns(Verdict, faithful["verdicts"]) == [worst]
    assert {name: one["value"] for name, one in faithful["metrics"].items()} == {"kl_nats": 0.01, "ttft_ms": 50.0}
    assert faithful["metrics"]["ttft_ms"]["at"] == "2026-03-01T12:05:00Z"
    assert old.last_slots()["slots"] == [
        {"endpoint": "lab/faithful", "probe": "speed", "slot_at": "2026-03-01T12:05:00Z"}
    ]
    assert (old.mark("w"), old.mark("judge"), old.mark("odd"), old.counts()["rejected"]) == (9, 1, 7, 1)


def test_an_old_file_takes_more(old: DuckStore) -> None:
    third = run_record("r3", at=minutes(9))
    put(old, third, judged(third), endpoint(precision="fp8"), slot(at=minutes(9), run_id="r3"))
    assert old.runs("lab/faithful", None, limit=1)["records"] == [plain(third)]
    assert old.overview()["endpoints"][1]["precision"] == "fp8"
    assert old.overview()["endpoints"][1]["last_run_at"] == "2026-03-01T12:09:00Z"


def test_the_newest_schema_can_be_written_down_as_such_a_file(tmp_path: Path) -> None:
    """For the release after this one: what is written now answers as the files of old do."""
    write_schema.main(tmp_path)
    path = tmp_path / "again.duckdb"
    with duckdb.connect(path, config={"storage_compatibility_version": "v1.5.0"}) as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute((tmp_path / f"{len(MIGRATIONS)}.sql").read_text(encoding="utf-8"))
    with closing(DuckStore(path)) as store:
        test_an_old_file_answers_as_before(store)


def test_a_file_that_is_up_to_date_gets_no_copy(tmp_path: Path) -> None:
    DuckStore(tmp_path / "new.duckdb").close()
    DuckStore(tmp_path / "new.duckdb").close()
    assert list(tmp_path.glob("*.bak")) == []
