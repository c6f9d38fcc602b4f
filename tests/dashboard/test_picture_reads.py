"""The reads of the pages over a real database. Oracles: counts and medians of the few rows that were put in."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import jsonschema
import pytest

from jobs.store_process import READS
from monitor.codec import encode
from monitor.ports import Entry
from storage.picture_reads import PICTURES
from storage.plans import READS as PLANS
from storage.store import DuckStore
from tests.dashboard.scenes import NOW
from tests.dashboard.store import serving
from tests.storage import factories as made

DAY = timedelta(days=1)
SINCE, UNTIL = NOW - 10 * DAY, NOW + timedelta(seconds=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DuckStore]:
    found = DuckStore(tmp_path / "w.duckdb")
    yield found
    found.close()


def put(store: DuckStore, *records: tuple[str, object]) -> None:
    start = store.mark("w") + 1
    store.ingest("w", [Entry(seq, kind, encode(noun)) for seq, (kind, noun) in enumerate(records, start)])


def ask(store: DuckStore, read: str, **parameters: str) -> Any:
    with serving(store) as url:
        answer = httpx.get(f"{url}/api/{read}", params=parameters, trust_env=False)
    return answer.json() | {"status": answer.status_code}


SPAN = {"since": SINCE.isoformat(), "until": UNTIL.isoformat()}


def told(days: float, status: str, effect: float | None = 1.0, **changes: Any) -> tuple[str, object]:
    at = NOW - days * DAY
    return "verdict", made.verdict(f"v-{days}-{changes}", at=at, status=status, effect=effect, **changes)


def test_a_standing_begins_with_the_first_verdict_that_said_the_same(store: DuckStore) -> None:
    put(store, told(9, "pass"), told(8, "fail"), told(7, "pass"), told(3, "fail"), told(2, "fail"), told(0, "fail"))
    (one,) = ask(store, "standings", buckets="10", **SPAN)["standings"]
    assert one["since_at"] == (NOW - 3 * DAY).isoformat().replace("+00:00", "Z")
    assert one["changed"] is True
    # A bucket is a little longer than a day, as the window ends a second after the newest verdict.
    assert [cell and cell["status"] for cell in one["cells"]] == [
        "pass", "fail", "pass", None, None, None, "fail", "fail", None, "fail",
    ]  # fmt: skip


def test_a_standing_older_than_the_window_is_said_to_be_so_and_a_bucket_has_its_worst(store: DuckStore) -> None:
    put(store, told(40, "pass"), told(2.1, "pass", 2.0), told(2.2, "suspect", 4.0), told(1, "pass"), told(0, "pass"))
    whole = ask(store, "standings", buckets="10", since=(NOW - DAY).isoformat(), until=UNTIL.isoformat())["standings"][
        0
    ]
    assert whole["changed"] is False
    cells = ask(store, "standings", buckets="10", **SPAN)["standings"][0]["cells"]
    assert cells[7] == {"status": "suspect", "effect": 3.0}


def timed(run_id: str, vantage: str, ttfts: list[float], **changes: Any) -> tuple[str, object]:
    asked = [made.exchange(place, run_id=run_id, at=NOW - DAY, ttft_ms=ttft, measurement="valid", **changes)
             for place, ttft in enumerate(ttfts)]  # fmt: skip
    return "run", made.run_record(run_id, at=NOW - DAY, vantage=vantage, exchanges=asked)


def test_speeds_are_of_complete_valid_answers_alone(store: DuckStore) -> None:
    good = [100.0, 200.0, 300.0, 400.0]
    put(
        store, timed("r1", "eu", good), timed("r2", "eu", [9000.0], outcome="stalled"), timed("r3", "us", [50.0]),
        ("run", made.run_record("r4", at=NOW - DAY, vantage="eu", exchanges=[
            made.exchange(0, run_id="r4", at=NOW - DAY, ttft_ms=1.0, measurement="late")])),
    )  # fmt: skip
    found = ask(store, "speeds", endpoint="lab/faithful", buckets="1", **SPAN)
    eu, us = found["buckets"]
    assert (eu["n"], eu["n_good"], eu["n_late"], eu["n_ttft"]) == (6, 5, 1, 4)
    assert eu["ttft_ms"][2] == median(good)
    assert (us["vantage"], us["n_ttft"]) == ("us", 1)
    assert sum(one["n"] for one in found["bins"] if one["metric"] == "ttft_ms") == 5
    assert ask(store, "speeds", endpoint="lab/faithful", probe="tools", **SPAN)["buckets"] == []
    assert ask(store, "speeds", endpoint="gone", **SPAN)["status"] == 404


def test_the_timeline_has_what_was_open_at_any_time_of_the_window(store: DuckStore) -> None:
    def one(name: str, opened: float, closed: float | None) -> tuple[str, object]:
        ended = None if closed is None else NOW - closed * DAY
        return "incident", made.incident(name, at=NOW - opened * DAY, closed_at=ended)

    put(store, one("before", 30, 20), one("across", 30, 5), one("open", 30, None), one("within", 3, 2))
    found = ask(store, "timeline", **SPAN)["incidents"]
    assert [one["incident_id"] for one in found] == ["within", "open", "across"]
    assert len(ask(store, "timeline", limit="1", **SPAN)["incidents"]) == 1


def test_evidence_is_a_verdict_with_its_runs_in_its_order_and_what_golden_said(store: DuckStore) -> None:
    records = [made.run_record(f"r{place}", at=NOW - timedelta(hours=place)) for place in range(6)]
    verdict = replace(made.verdict(at=NOW), run_ids=("r3", "r1", "gone"))
    put(store, *(("run", one) for one in records), ("judged", made.judged(records[3])), ("verdict", verdict))
    found = ask(store, "evidence", verdict="verdict-1")
    assert [one["run"]["run_id"] for one in found["records"]] == ["r3", "r1"]
    assert [one["run_id"] for one in found["judged"]] == ["r3"]
    assert found["judged"][0]["views"][0]["positions"]
    assert found["records"][0]["exchanges"][0]["choices"][0]["logprobs"]
    assert ask(store, "evidence", verdict="gone")["status"] == 404


def test_instruments_tell_lag_by_agent_and_what_waits(store: DuckStore) -> None:
    runs = [made.run_record(f"r{place}", at=NOW - timedelta(minutes=place), lag_ms=lag, vantage="eu")
            for place, lag in enumerate([1.0, 3.0, None])]  # fmt: skip
    put(store, *(("run", one) for one in runs), ("judged", made.judged(runs[0])))
    found = ask(store, "instruments", **SPAN)
    (agent,) = found["agents"]
    assert (agent["n_runs"], agent["n_lag"], agent["lag_ms"][0], agent["worst_ms"]) == (3, 2, 2.0, 3.0)
    assert found["waiting"]["n"] == 2
    assert found["counts"]["runs"] == 3


def test_spending_is_by_utc_day_and_declared_endpoints_bring_prices(store: DuckStore) -> None:
    put(store, ("endpoint", made.endpoint(price_in_usd=0.5)), ("run", made.run_record("r", at=NOW - DAY, n=3)))
    (day,) = ask(store, "spending", since=SINCE.isoformat())["days"]
    assert (day["day"], day["tokens_in"], day["tokens_out"]) == ("2026-11-28", 36, 3)
    assert ask(store, "declared")["declared"][0]["price_in_usd"] == 0.5


@pytest.mark.parametrize("read", ["standings", "timeline", "instruments", "spending"])
def test_a_window_that_is_missing_or_turned_round_is_refused_in_words(store: DuckStore, read: str) -> None:
    assert ask(store, read)["error"] == "parameter 'since' is required"
    if read in {"standings", "instruments"}:
        turned = ask(store, read, since=UNTIL.isoformat(), until=SINCE.isoformat())
        assert (turned["status"], turned["error"]) == (400, "parameter 'since' must be before 'until'")


def test_the_description_has_every_read_and_the_answers_fit_it(store: DuckStore) -> None:
    """Oracle: JSON Schema; what is described as required is refused when it is left out."""
    record = made.run_record("r1", at=NOW - DAY)
    put(store, ("endpoint", made.endpoint()), ("run", record), ("judged", made.judged(record)),
        ("verdict", made.verdict(at=NOW)), ("incident", made.incident(at=NOW - DAY)))  # fmt: skip
    values = {**SPAN, "endpoint": "lab/faithful", "verdict": "verdict-1", "metric": "ttft_ms", "width_s": "60"}
    with serving(store) as url, httpx.Client(base_url=url, trust_env=False) as client:
        described = client.get("/openapi.json").json()
        assert {f"/api/{name}" for name in {**PLANS, **READS}} <= set(described["paths"])
        for name in PICTURES:
            one = described["paths"][f"/api/{name}"]["get"]
            needed = [each["name"] for each in one["parameters"] if each["required"]]
            answer = client.get(f"/api/{name}", params={each: values[each] for each in needed})
            assert answer.status_code == 200, (name, answer.text)
            schema = one["responses"]["200"]["content"]["application/json"]["schema"]
            jsonschema.validate(answer.json(), {**schema, "components": described["components"]})
            for left_out in needed:
                rest = {each: values[each] for each in needed if each != left_out}
                assert client.get(f"/api/{name}", params=rest).status_code == 400
