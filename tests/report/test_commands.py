"""compare, show and publish as typed, on folders, snapshots and a store. Oracle: files, streams, exit codes."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from typer.testing import CliRunner

from jobs.cli import build
from jobs.compare import Wanted, facts_of_store
from jobs.show import in_store
from jobs.store_client import StoreClient
from monitor.codec import plain
from monitor.errors import StoreError, UsageError, WeighmasterError
from storage.api import app
from storage.badges import BADGES
from storage.comparison_reads import COMPARISONS, facts_in
from storage.memory import MemoryStore
from storage.store import DuckStore
from tests.report.made import HOSTILE, filled, folder, kept, told
from tests.storage.asks import put
from tests.storage.factories import endpoint, incident, minutes, run_record


def typed(*words: str) -> tuple[int, str]:
    """Exit code and standard output; errors for people are raised as they are."""
    done = CliRunner().invoke(build(), list(words), catch_exceptions=False)
    return done.exit_code, done.stdout


def client(store: DuckStore) -> StoreClient:
    served = app(store, more={**COMPARISONS, **BADGES})
    return StoreClient("http://store", transport=httpx.ASGITransport(served))


def test_a_folder_of_evidence_becomes_a_report_in_all_forms(tmp_path: Path) -> None:
    evidence, out = folder(tmp_path / "evidence"), tmp_path / "report"
    code, text = typed("compare", "--from", str(evidence), "--out", str(out))
    assert code == 1  # one fails
    assert "bargain/m does not serve the weights that it declares (bf16)" in text
    assert sorted(path.name for path in out.iterdir()) == [
        "comparison.csv", "comparison.html", "comparison.json", "comparison.md"
    ]  # fmt: skip
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    typed("compare", "--from", str(evidence), "--out", str(out))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


def test_every_form_can_be_printed_alone(tmp_path: Path) -> None:
    evidence = str(folder(tmp_path / "evidence"))
    document = json.loads(typed("compare", "--from", evidence, "--json")[1])
    assert [row["endpoint"]["name"] for row in document["models"][0]["rows"]] == ["acme/m", "bargain/m"]
    assert json.loads(typed("compare", "--from", evidence, "--format", "json")[1]) == document
    assert typed("compare", "--from", evidence, "--format", "html")[1].startswith("<!doctype html>")
    assert typed("compare", "--from", evidence, "--format", "md")[1].startswith("# 2 endpoints of smollm2 compared\n")
    lines = list(csv.DictReader(io.StringIO(typed("compare", "--from", evidence, "--format", "csv")[1])))
    assert {line["endpoint"] for line in lines} == {"acme/m", "bargain/m"}


def test_exit_codes_are_those_of_the_worst_endpoint(tmp_path: Path) -> None:
    evidence = str(folder(tmp_path / "evidence"))
    assert typed("compare", "acme/*", "--from", evidence)[0] == 0
    assert typed("compare", "acme/*", "bargain/*", "--from", evidence)[0] == 1
    kept(tmp_path / "open", endpoint("dusk/m"), "Hm.")
    assert typed("compare", "--from", str(tmp_path / "open"))[0] == 3


def test_two_folders_are_one_comparison_and_newer_verdicts_win(tmp_path: Path) -> None:
    kept(tmp_path / "one", endpoint("acme/m"), "a", told("acme/m", "pass", 1e-5, 8e-6, 2e-5))
    later = told("acme/m", "fail", 0.2, 0.1, 0.3, verdict_id="later", at=minutes(60 * 24))
    kept(tmp_path / "two", endpoint("acme/m"), "a", later)
    code, text = typed("compare", "--from", str(tmp_path / "one"), "--from", str(tmp_path / "two"), "--json")
    (row,) = json.loads(text)["models"][0]["rows"]
    assert (code, row["status"], row["spent"]["n_requests"]) == (1, "fail", 8)
    assert row["since"]["last_good_at"] is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "nowhere"], "no such folder"),
        (["--from", "EVIDENCE", "zeta/*"], "no endpoint is called zeta/\\* there; found"),
        (["--from", "EVIDENCE", "--format", "pdf"], "--format must be text, html, md, json or csv"),
        (["--from", "EVIDENCE", "--since", "soon"], "is not a duration"),
        (["--from", "EVIDENCE", "--config", "missing.yaml"], "missing.yaml"),
        ([], "weighmaster.yaml: no such file; name one with --config, or a folder of evidence with --from"),
    ],
)
def test_bad_input_names_place_and_remedy(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "EVIDENCE")
    with pytest.raises(WeighmasterError, match=said):
        typed("compare", *words)


def test_a_store_that_does_not_run_is_said_with_what_works_without(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        'store: {listen: "127.0.0.1:9"}\nendpoints: [{name: a/m, base_url: "http://127.0.0.1:1", model: m}]\n'
    )
    with pytest.raises(StoreError, match=r"is the store running.*--from FOLDER"):
        typed("compare", "--config", str(path))


def test_a_snapshot_is_read_without_a_store_and_gives_the_window_back_from_its_newest_run(tmp_path: Path) -> None:
    store = filled(tmp_path / "w.duckdb")
    snapshot = str(store.snapshot(minutes(600), "asked").folder)
    store.close()
    whole = json.loads(typed("compare", "--from", snapshot, "--json")[1])
    short = json.loads(typed("compare", "--from", snapshot, "--since", "2h", "--json")[1])

    def runs(document: dict[str, Any]) -> int:
        row = next(one for one in document["models"][0]["rows"] if one["endpoint"]["name"] == "acme/m")
        return sum(probe["n_runs"] for probe in row["probes"] if probe["probe"] == "speed")

    assert (runs(whole), runs(short)) == (8, 3)  # hourly runs: the newest, and those one and two hours before


async def test_the_store_answers_with_the_same_facts(tmp_path: Path) -> None:
    store = filled(tmp_path / "w.duckdb", "fine", incident("i1", endpoint="bargain/m"))
    asked = await facts_of_store(client(store), Wanted(patterns=("acme/*", "bargain/m"), span=timedelta(days=7)))
    assert plain(asked) == plain(facts_in(store, patterns=("acme/*", "bargain/m")))
    assert [one.endpoint.name for one in asked] == ["acme/m", "bargain/m"]
    assert [len(one.incidents) for one in asked] == [0, 1]
    store.close()


def test_a_window_with_an_end_sees_the_verdicts_of_then(tmp_path: Path) -> None:
    store = filled(tmp_path / "w.duckdb")
    (then,) = facts_in(store, patterns=("bargain/m",), until=minutes(120))
    (now,) = facts_in(store, patterns=("bargain/m",))
    assert [one.status for one in then.verdicts] == ["pass"]
    assert {one.detector: one.status for one in now.verdicts} == {"identify": "fail", "logprob_fidelity": "fail"}
    store.close()


async def test_an_endpoint_that_only_ran_is_compared_too(tmp_path: Path) -> None:
    store = DuckStore(tmp_path / "w.duckdb")
    put(store, run_record("r1", endpoint="new/m"))
    (one,) = await facts_of_store(client(store), Wanted(patterns=(), span=None))
    assert (one.endpoint.name, one.endpoint.base_url, sum(one.outcomes.values())) == ("new/m", "", 2)
    store.close()


async def test_an_empty_store_has_nothing_to_compare(tmp_path: Path) -> None:
    store = DuckStore(tmp_path / "w.duckdb")
    assert await facts_of_store(client(store), Wanted(patterns=(), span=timedelta(days=7))) == ()
    store.close()


def test_show_tells_all_of_a_verdict_and_how_to_compute_it_again(tmp_path: Path) -> None:
    evidence = str(folder(tmp_path / "evidence", HOSTILE))
    code, text = typed("show", "bargain-m", "--from", evidence)
    assert code == 1
    for part in ("bargain-m-kl", "✗ fail (weights)", "0.24 [0.19, 0.3] nats", "133", "top_k", "audit --from"):
        assert part in text
    code, text = typed("show", "acme-m-kl", "--from", evidence, "--json")
    assert (code, json.loads(text)["verdict"]["status"]) == (0, "pass")
    with pytest.raises(UsageError, match="no verdict 'zzz' there"):
        typed("show", "zzz", "--from", evidence)


def test_show_wants_one_verdict(tmp_path: Path) -> None:
    kept(tmp_path, endpoint("a/m"), "a", *(told("a/m", "pass", 0, 0, 0, verdict_id=f"same-{i}") for i in range(2)))
    with pytest.raises(UsageError, match="2 verdicts begin with 'same'"):
        typed("show", "same", "--from", str(tmp_path))


async def test_show_asks_the_store_by_beginning_or_by_the_whole_id(tmp_path: Path) -> None:
    store = filled(tmp_path / "w.duckdb")
    assert (await in_store(client(store), "acme-m")).verdict_id == "acme-m-kl"
    with pytest.raises(UsageError, match="no verdict 'nothing' there"):
        await in_store(client(store), "nothing")
    store.close()


def test_publish_writes_a_page_its_data_and_a_badge_each(tmp_path: Path) -> None:
    evidence, out = folder(tmp_path / "evidence", f"sk-secret {HOSTILE}"), tmp_path / "public"
    code, text = typed("publish", "--from", str(evidence), "--out", str(out), "--title", "Ours <b>")
    assert (code, text) == (0, "")
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        "badges/acme__m.svg", "badges/bargain__m.svg", "index.html", "status.json"
    ]  # fmt: skip
    for path in out.rglob("*.*"):
        content = path.read_text("utf-8")
        assert not {"127.0.0.1", "sk-secret", "evil.example", "bargain-m-logprobs"} & set(content.split())
        assert "sk-secret" not in content
        assert "http://127" not in content
        assert "fra" not in content.split()
    assert "<h1>Ours &lt;b&gt;</h1>" in (out / "index.html").read_text("utf-8")
    document = orjson.loads((out / "status.json").read_bytes())
    assert [one["status"] for one in document["models"][0]["endpoints"]] == ["pass", "fail"]


def test_two_names_with_one_badge_are_refused(tmp_path: Path) -> None:
    kept(tmp_path / "e", endpoint("a/m"), "a")
    kept(tmp_path / "f", endpoint("a__m"), "a")
    with pytest.raises(UsageError, match="another endpoint has the same badge"):
        typed("publish", "--from", str(tmp_path / "e"), "--from", str(tmp_path / "f"), "--out", str(tmp_path / "p"))


@pytest.mark.parametrize("kind", ["duck", "memory"])
async def test_the_store_draws_badges(kind: str, tmp_path: Path) -> None:
    store = DuckStore(tmp_path / "w.duckdb") if kind == "duck" else MemoryStore()
    put(store, endpoint("a/m"), endpoint("b/<m>"), told("a/m", "fail", 0.2, 0.1, 0.3))
    served = app(store, more=BADGES)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://store") as asking:
        failing = await asking.get("/api/badge", params={"endpoint": "a/m"})
        unjudged = await asking.get("/api/badge", params={"endpoint": "b/<m>"})
        unknown = await asking.get("/api/badge", params={"endpoint": "c/m"})
    assert failing.headers["content-type"] == "image/svg+xml; charset=utf-8"
    assert "<title>a/m: ✗ fails: weights</title>" in failing.text
    assert "<title>b/&lt;m&gt;: – not judged yet</title>" in unjudged.text
    assert (unknown.status_code, unknown.json()["error"].startswith("no endpoint 'c/m'")) == (404, True)
    store.close()
