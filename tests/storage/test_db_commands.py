"""``weighmaster db`` beside a store that runs, and without one. Oracle: what was put in, and what lies where."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from jobs.cli import build
from monitor.errors import StoreError, UsageError
from monitor.kept import kept_captures
from monitor.ports import Entry
from monitor.types import Capture, Read
from monitor.wire.files import load
from storage.snapshots import existing, place_of
from storage.store import DuckStore
from tests.storage.asks import put
from tests.storage.factories import run_record
from tests.storage.processes import store_process

Run = Callable[..., Result]
RECORD = run_record("r1", prober_version="=1+1")
CAPTURES = [Capture(request=one.request, status=200, reads=(Read(0, b"data"),)) for one in RECORD.exchanges]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "data" / "store.duckdb"
    with closing(DuckStore(made)) as store:
        put(store, RECORD)
        kept = kept_captures(RECORD, CAPTURES)
        store.ingest("c", [Entry(1 + i, kind, data) for i, (kind, data) in enumerate(kept)])
    return made


def _runner(tmp_path: Path, path: Path, listen: str) -> Run:
    config = tmp_path / "weighmaster.yaml"
    config.write_text(
        yaml.safe_dump({
            "store": {"path": str(path), "listen": listen},
            "endpoints": [{"name": "lab/faithful", "base_url": "http://127.0.0.1:1/v1", "model": "m"}],
        }),
        encoding="utf-8",
    )  # fmt: skip

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(build(), ["db", *arguments, "--config", str(config)], catch_exceptions=True)

    return run


@pytest.fixture(params=["stopped", "running"])
def run(request: pytest.FixtureRequest, tmp_path: Path, path: Path) -> Iterator[Run]:
    if request.param == "stopped":
        yield _runner(tmp_path, path, "127.0.0.1:1")
        return
    with store_process(path) as (_, url):
        yield _runner(tmp_path, path, urlsplit(url).netloc)


def test_what_one_does_with_a_store(run: Run, tmp_path: Path, path: Path) -> None:
    shown = run("query", "SELECT run_id, n_exchanges FROM runs", "--json")
    assert orjson.loads(shown.stdout) == {"columns": ["run_id", "n_exchanges"], "rows": [["r1", 2]], "more": False}
    assert run("query", 'SELECT prober_version AS "=x", -1 AS y FROM runs', "--csv").stdout == "'=x,y\n'=1+1,-1\n"
    assert "r1" in run("query", "SELECT run_id, NULL AS none FROM runs").stdout
    odd = run("query", "SELECT 2::HUGEINT ** 100 AS a, INTERVAL 1 DAY AS b, [1.5::DECIMAL(3,1)] AS c, started_at AS d "
              "FROM runs", "--json")  # fmt: skip
    assert orjson.loads(odd.stdout)["rows"][0][3] == "2026-03-01T12:00:00Z"
    assert existing(place_of(path)) == []  # the copies that were asked are gone
    exported = run("export", str(tmp_path / "out"), "--format", "csv", "--table", "captures", "--json")
    assert orjson.loads(exported.stdout)["rows"] == {"captures.csv": 2}
    assert load(run("capture", "r1.0").stdout.encode(), "capture") == CAPTURES[0]
    assert run("capture", "r1.1", "--out", str(tmp_path / "one.capture")).exit_code == 0
    assert load((tmp_path / "one.capture").read_bytes(), "capture") == CAPTURES[1]
    assert isinstance(run("capture", "nobody").exception, StoreError)
    assert isinstance(run("query", "DROP TABLE runs").exception, UsageError)
    folder = Path(run("snapshot").stdout.strip())
    assert [one.folder for one in existing(place_of(path))] == [folder]
    assert str(folder) in run("snapshots").stdout
    kept = orjson.loads(run("snapshots", "--json").stdout)["snapshots"]
    assert [one["name"] for one in kept] == [folder.name]
    named = run("query", "SELECT count(*) AS n FROM runs", "--snapshot", folder.name, "--json")
    assert orjson.loads(named.stdout)["rows"] == [[1]]


def test_restore_wants_the_store_stopped(tmp_path: Path, path: Path) -> None:
    run = _runner(tmp_path, path, "127.0.0.1:1")
    folder = Path(run("snapshot").stdout.strip())
    with closing(DuckStore(path)) as store:
        put(store, run_record("r2"))
        refused = run("restore", str(folder))
        assert isinstance(refused.exception, StoreError)
        assert store.counts()["runs"] == 2
    done = orjson.loads(run("restore", folder.name, "--json").stdout)
    assert (Path(done["replaced"]) / path.name).exists()
    with closing(DuckStore(path)) as store:
        assert store.counts()["runs"] == 1


def test_without_a_database(tmp_path: Path) -> None:
    run = _runner(tmp_path, tmp_path / "none.duckdb", "127.0.0.1:1")
    assert isinstance(run("query", "SELECT 1").exception, UsageError)
    assert run("snapshots").stdout == ""
    assert not (tmp_path / "none.duckdb").exists()
