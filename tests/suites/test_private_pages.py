"""A private suite on a schedule: no word of it is in the store's API, on a page, in a public page or a badge."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
import pytest
import streamlit as st

import dashboard.screens
from jobs.clock import SystemClock
from jobs.pack import asked
from monitor.codec import encode
from monitor.detectors.suite import SuiteAnswers
from monitor.incident import Incident
from monitor.results import Evidence, RunRecord, Verdict
from monitor.suites.tally import tallies
from probes.run import run_probe
from probes.suite import PrivateSuite
from tests.dashboard.opening import opened_page
from tests.dashboard.store import stored
from tests.dashboard.test_pages import drawn, texts
from tests.detectors.made import endpoint
from tests.suites.running import weighmaster, write_config
from tests.suites.test_probe import Knows
from tests.suites.test_two_customers import CANARY, private

SCREENS = Path(dashboard.screens.__file__).parent
MINE = {"endpoint": "acme/model"}
PAGES = {
    "overview": {}, "endpoint": {"name": "acme/model"}, "verdict": {"id": "v-suite"}, "incidents": {"id": "i-1"},
    "compare": {}, "speed": MINE, "tools": MINE, "capabilities": MINE, "instrument": {},
}  # fmt: skip


async def judged(folder: Path) -> tuple[RunRecord, Verdict, Incident]:
    """A run of acme's suite against an endpoint that says the canary, with golden right everywhere: it fails."""
    (folder / f"{CANARY}.jsonl").write_text(private("keep").replace("Say 3.", "Say 33."))
    probe, now = PrivateSuite(file=str(folder / f"{CANARY}.jsonl")), datetime.now(UTC)
    record, _ = await run_probe(
        probe, endpoint(), Knows(), clock=SystemClock(), seed=3, vantage="t", prober_version="0", concurrency=2
    )
    golden = tuple(replace(one, k=one.n) for one in tallies(record.exchanges))
    evidence = Evidence(endpoint=endpoint(), runs=(record.run,), exchanges=record.exchanges, suite_golden=golden)
    told = replace(
        SuiteAnswers().run(evidence, at=now, rng=np.random.default_rng(0)), verdict_id="v-suite", status="fail",
        cause="worse_than_golden",
    )  # fmt: skip
    incident = Incident(
        incident_id="i-1", endpoint="acme/model", detector="suite", topic="suite", cause="worse_than_golden",
        opened_at=now, last_at=now, closed_at=None, n_verdicts=1, verdict_id="v-suite", reason=told.reason,
    )  # fmt: skip
    return record, told, incident


@pytest.fixture
async def found(tmp_path: Path) -> tuple[RunRecord, Verdict, Incident]:
    return await judged(tmp_path)


@pytest.fixture
def url(found: tuple[RunRecord, Verdict, Incident]) -> Iterator[str]:
    record, told, incident = found
    with stored([("endpoint", endpoint()), ("run", record), ("verdict", told), ("incident", incident)]) as served:
        yield served


def test_no_read_of_the_store_says_a_word(url: str, found: tuple[RunRecord, Verdict, Incident]) -> None:
    """Every read that the API describes is asked about this endpoint, its run and its verdict."""
    exchange = found[0].exchanges[0]
    hour = timedelta(hours=1)
    known = {"endpoint": "acme/model", "metric": "suite_pass_rate", "probe": "suite", "id": "v-suite",
             "verdict": "v-suite", "writer": "test", "of": found[0].run.params_sha256, "now": str(datetime.now(UTC)),
             "since": str(datetime.now(UTC) - hour), "until": str(datetime.now(UTC) + hour)}  # fmt: skip
    others = {"/api/capture": {"id": exchange.exchange_id}, "/api/alert-past": {"metric": "ttft_ms"}}
    replies = []
    with httpx.Client(base_url=url) as client:
        paths = client.get("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            asked = [one["name"] for one in methods.get("get", {}).get("parameters", ()) if one["name"] in known]
            said = {name: known[name] for name in asked} | others.get(path, {})
            if "get" in methods:
                replies.append(client.get(path, params=said))
    assert CANARY not in "".join(one.text for one in replies)
    assert "Say " not in "".join(one.text for one in replies)
    assert sum("acme/model" in one.text for one in replies) >= 10
    assert sum("worse_than_golden" in one.text for one in replies) >= 3
    assert [(one.url.path, one.text) for one in replies if one.status_code != httpx.codes.OK] == []


def test_no_page_says_a_word_and_the_overview_has_a_column_for_suites(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    st.cache_data.clear()
    pages = {}
    for name, parameters in PAGES.items():
        shown = opened_page(monkeypatch, url, name, parameters)
        pages[name] = texts(shown) + drawn(shown) + "".join(str(one.value.to_csv()) for one in shown.dataframe)
    assert [name for name, text in pages.items() if CANARY in text or "Say " in text] == []
    assert [name for name, text in pages.items() if "acme/model" not in text] == []
    assert {path.stem for path in SCREENS.glob("*.py")} - {"__init__"} == set(pages)
    assert ">Suite<" in pages["overview"]
    assert "worse than golden" in pages["verdict"]


def test_no_pack_holds_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pack records are requests of probes: of the kind `suite` its own public cases, whatever is configured."""
    suite = tmp_path / f"{CANARY}.jsonl"
    suite.write_text(private("keep"))
    config = write_config(tmp_path, "http://127.0.0.1:1/v1")
    config.write_text(f"{config.read_text()}probes: [{{kind: suite, every: 1d, file: {suite}}}]\n")
    monkeypatch.chdir(tmp_path)
    asked_of = encode(asked(("logprobs", "greedy", "identify", "suite", "sample")))
    assert b"pool-" in asked_of
    assert CANARY.encode() not in asked_of
    assert b"Say 3." not in asked_of


def test_the_public_does_not_see_how_a_private_suite_went(url: str, tmp_path: Path) -> None:
    """Oracle: `compare`, the operator's own report of the same store, says that the endpoint fails."""
    config = write_config(tmp_path, "http://127.0.0.1:1/v1")
    told = weighmaster("compare", "-c", str(config), "--store-url", url, "--format", "json")
    assert told.exit_code == 1
    assert "worse_than_golden" in told.stdout
    out = tmp_path / "public"
    assert weighmaster("publish", "-c", str(config), "--store-url", url, "--out", str(out)).exit_code == 0
    files = [path.read_text("utf-8") for path in out.rglob("*.*") if path.is_file()]
    badge = httpx.get(f"{url}/api/badge", params={"endpoint": "acme/model"}).text
    assert len(files) == 3
    assert [text for text in (*files, badge) if "worse_than_golden" in text or "worse than golden" in text] == []
    assert '"status": "fail"' not in "".join(files)
    assert "not judged yet" in badge
