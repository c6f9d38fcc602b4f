"""Token arrays and captures in files. Oracle: what was put in, whether it still lies in the database or not."""

import subprocess
import sys
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
import orjson
import pytest

from monitor.codec import plain
from monitor.config_store import RetentionConfig
from monitor.kept import LARGEST, kept_captures
from monitor.ports import Entry
from monitor.results import RunRecord
from monitor.types import Capture, Read
from monitor.wire.files import dump, load
from storage.arrays import GONE, NOT_KEPT, POSITIONS_GONE
from storage.store import DuckStore
from tests.storage.asks import put
from tests.storage.factories import exchange, judged, minutes, run_record, verdict
from tests.storage.processes import ROOT

FOREVER = RetentionConfig(captures=float("inf"), failures=float("inf"))
NAME = "lab/faithful"


def _days(n: float) -> timedelta:
    return timedelta(days=n)


def _files(store: DuckStore) -> list[str]:
    """Kind and day of the files that count, in order."""
    return [f"{row['kind']} {row['day']}" for row in store.read("SELECT * FROM files ORDER BY kind, day")]


def _on_disk(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "store.duckdb.evidence").rglob("*.parquet"))


def _captures(record: RunRecord) -> list[Capture]:
    return [
        Capture(request=one.request, sent=b"{}", status=200, t0_ns=5, reads=(Read(7, f"data: {i}\n\n".encode()),))
        for i, one in enumerate(record.exchanges)
    ]


def _put_captures(store: DuckStore, record: RunRecord) -> None:
    mark = store.mark("captures")
    kept = kept_captures(record, _captures(record))
    store.ingest("captures", [Entry(mark + 1 + i, kind, data) for i, (kind, data) in enumerate(kept)])


def test_rows_move_into_compressed_files_by_day_and_come_back_unchanged(duck: DuckStore, tmp_path: Path) -> None:
    runs = [run_record(f"r{i}", at=minutes(600 * i)) for i in range(5)]  # 12:00, 22:00, 08:00, 18:00, 04:00
    put(duck, *runs, *map(judged, runs))
    before = (duck.runs(NAME, None, limit=9), duck.exchanges(NAME, limit=99, outcome=None), duck.counts())
    done = duck.upkeep(minutes(600 * 5), RetentionConfig())
    assert (done.moved, done.dropped, done.deleted) == (20, 0, 0)
    assert duck.read("SELECT count(*) AS n FROM tokens") == [{"n": 0}]
    assert _files(duck) == ["tokens 2026-03-01", "tokens 2026-03-02", "tokens 2026-03-03"]
    assert (duck.runs(NAME, None, limit=9), duck.exchanges(NAME, limit=99, outcome=None), duck.counts()) == before
    with duckdb.connect() as con:
        for path in _on_disk(tmp_path):
            found = con.execute("SELECT compression FROM parquet_metadata(?)", [str(path)]).fetchall()
            assert set(found) == {("ZSTD",)}


def test_a_path_that_counts_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the default configuration: the database may reach its own files there, too."""
    monkeypatch.chdir(tmp_path)
    with closing(DuckStore(Path("it's data/store.duckdb"))) as store:
        put(store, run_record("r1"))
        before = store.exchanges(NAME, limit=9, outcome=None)
        assert store.upkeep(minutes(600), FOREVER).moved == 2
        assert store.exchanges(NAME, limit=9, outcome=None) == before
        assert before["exchanges"][0]["choices"][0]["logprobs"]


def test_fresh_rows_stay_and_late_ones_are_joined_to_their_day(duck: DuckStore, tmp_path: Path) -> None:
    put(duck, run_record("r1"))
    assert duck.upkeep(minutes(359), FOREVER).moved == 0
    for i in range(3):
        duck.upkeep(minutes(400 + i), FOREVER)
        put(duck, run_record(f"late{i}", at=minutes(10 + i)))
    assert len(_on_disk(tmp_path)) == 3
    done = duck.upkeep(minutes(60 * 24), FOREVER)
    assert done.joined == 4
    assert _files(duck) == ["tokens 2026-03-01"]
    assert len(duck.exchanges(NAME, limit=99, outcome=None)["exchanges"]) == 8
    duck.upkeep(minutes(60 * 25), FOREVER)
    assert len(_on_disk(tmp_path)) == 1  # those that were joined are swept away


def test_what_a_failure_rests_on_is_kept_longer(duck: DuckStore) -> None:
    """Default ages: 30 days, and 90 where something failed."""
    fine, bad = run_record("fine"), run_record("bad", at=minutes(1))
    broken = run_record("broken", at=minutes(2), exchanges=[exchange(0, run_id="broken", outcome="stalled")])
    put(duck, fine, bad, broken, verdict(status="suspect", run_ids=("bad",)))
    for record in (fine, bad, broken):
        _put_captures(duck, record)
    duck.upkeep(minutes(0) + _days(2), RetentionConfig())
    assert _files(duck) == [f"{kind} 2026-03-01" for kind in ("captures", "captures-failed", "tokens", "tokens-failed")]
    duck.upkeep(minutes(0) + _days(31), RetentionConfig())
    assert _files(duck) == ["captures-failed 2026-03-01", "tokens-failed 2026-03-01"]
    found = {one["exchange_id"]: one["flags"] for one in duck.exchanges(NAME, limit=9, outcome=None)["exchanges"]}
    assert {name for name, flags in found.items() if GONE in flags} == {"fine.0", "fine.1"}
    captures = {name: duck.capture(name) for name in found}
    assert {name for name, one in captures.items() if one and one["capture"]} == {"broken.0", "bad.1", "bad.0"}
    assert captures["fine.0"] == {
        "exchange_id": "fine.0", "at": "2026-03-01T12:00:00Z", "capture": None, "reason": NOT_KEPT
    }  # fmt: skip
    duck.upkeep(minutes(0) + _days(91), RetentionConfig())
    assert _files(duck) == []
    assert duck.counts()["runs"] == 3


def test_golden_positions_that_are_gone_say_so(duck: DuckStore) -> None:
    record = run_record("r1")
    put(duck, record, judged(record))
    duck.upkeep(minutes(0) + _days(40), RetentionConfig())  # moves
    duck.upkeep(minutes(0) + _days(41), RetentionConfig())  # drops
    (found,) = duck.runs(NAME, None, limit=1)["judged"]
    assert [(view["positions"], view["problem"]) for view in found["views"]] == [([], POSITIONS_GONE)] * 2
    assert found["observations"] == plain(judged(record))["observations"]


def test_a_run_judged_again_shows_the_new_positions_only(duck: DuckStore) -> None:
    record = run_record("r1")
    put(duck, record, judged(record))
    duck.upkeep(minutes(0) + _days(2), FOREVER)
    again = judged(record, at=minutes(60 * 24 * 3))
    put(duck, again)
    assert duck.runs(NAME, None, limit=1)["judged"] == [plain(again)]
    duck.upkeep(minutes(0) + _days(5), FOREVER)
    assert duck.runs(NAME, None, limit=1)["judged"] == [plain(again)]


def test_numbers_go_only_when_the_file_says_so(duck: DuckStore) -> None:
    put(duck, run_record("old"), run_record("new", at=minutes(60 * 24 * 9)), verdict())
    assert duck.upkeep(minutes(0) + _days(10), FOREVER).deleted == 0
    done = duck.upkeep(minutes(0) + _days(10), RetentionConfig(numbers=5 * 86400.0))
    assert done.deleted == 5  # a run, two exchanges, an observation, and its place in the judge's list
    assert [one["run"]["run_id"] for one in duck.unjudged(limit=9)["records"]] == ["new"]
    assert duck.counts()["verdicts"] == 1
    points = duck.series(NAME, "ttft_ms", since=None, until=None, buckets=2)["points"]
    assert [(point["at"][:16], point["n"]) for point in points] == [("2026-03-08T12:00", 1)], "halves of what is left"


def test_what_was_refused_goes_with_captures(duck: DuckStore) -> None:
    for n, days in enumerate((0, 1, 31)):
        duck.ingest(f"w{n}", [Entry(1, "capture", b'{"prompt": "of somebody"}')])
        duck.upkeep(minutes(0) + _days(days), RetentionConfig())
    rows = duck.read('SELECT x.writer, x."at" FROM rejected x ORDER BY ALL')
    assert [row["writer"] for row in rows] == ["w1", "w2"], "30 days after the pass that saw it first"
    assert rows[1]["at"] == minutes(0) + _days(31)
    duck.upkeep(minutes(0) + _days(10_000), FOREVER)
    assert duck.counts()["rejected"] == 2
    duck.upkeep(minutes(0) + _days(10_000), RetentionConfig())
    assert duck.counts()["rejected"] == 0


def test_the_capture_of_an_exchange_decodes_to_what_came(duck: DuckStore, tmp_path: Path) -> None:
    record = run_record("r1")
    put(duck, record)
    assert duck.capture("nobody") is None
    assert (duck.capture("r1.0") or {})["reason"] == NOT_KEPT
    _put_captures(duck, record)
    for _ in range(2):  # from the database, then from a file
        for one, capture in zip(record.exchanges, _captures(record), strict=True):
            found = duck.capture(one.exchange_id)
            assert found is not None
            assert load(dump(capture), "capture") == load(
                orjson.dumps(found["capture"]), "capture"
            ) == capture
        duck.upkeep(minutes(0) + _days(1), FOREVER)
    assert len(_on_disk(tmp_path)) == 2


def test_an_enormous_capture_is_left_out() -> None:
    record = run_record("r1")
    large, small = _captures(record)
    large = Capture(request=large.request, reads=(Read(1, b"x" * LARGEST),))
    assert [kind for kind, _ in kept_captures(record, [large, small])] == ["capture"]


def test_a_file_that_somebody_deleted_is_like_one_that_is_too_old(duck: DuckStore, tmp_path: Path) -> None:
    put(duck, run_record("r1"))
    duck.upkeep(minutes(500), FOREVER)
    put(duck, run_record("r2", at=minutes(1)))
    duck.upkeep(minutes(500), FOREVER)
    lost, _ = sorted(_on_disk(tmp_path), key=lambda path: path.stat().st_mtime_ns)
    lost.unlink()
    found = {one["exchange_id"]: one["flags"] for one in duck.exchanges(NAME, limit=9, outcome=None)["exchanges"]}
    assert {name for name, flags in found.items() if GONE in flags} == {"r1.0", "r1.1"}
    assert duck.upkeep(minutes(0) + _days(2), FOREVER).joined == 2
    assert len(duck.read("SELECT name FROM files")) == 1
    for path in _on_disk(tmp_path):
        path.unlink()
    assert GONE in duck.exchanges(NAME, limit=1, outcome=None)["exchanges"][0]["flags"]


def test_killed_in_the_middle_of_upkeep(tmp_path: Path) -> None:
    """SIGKILL at any moment: every row is in exactly one place afterwards, and stray files are swept away."""
    path, rng = tmp_path / "store.duckdb", np.random.default_rng(1)
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.upkeep_until_killed", str(path)], stdout=subprocess.PIPE, cwd=ROOT
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"passed\n"
        time.sleep(float(rng.uniform(0.1, 0.5)))
        process.kill()
        process.communicate()
    with closing(DuckStore(path)) as store:
        runs = store.counts()["runs"]
        assert runs >= 3
        assert store.counts()["tokens"] == 4 * runs
        for record in store.runs(NAME, None, limit=200)["records"]:
            assert [len(one["choices"][0]["logprobs"]) for one in record["exchanges"]] == [1, 1]
        store.upkeep(minutes(0), FOREVER)
        listed = {row["name"] for row in store.read("SELECT name FROM files")}
        assert {str(one.relative_to(tmp_path / "store.duckdb.evidence")) for one in _on_disk(tmp_path)} == listed
