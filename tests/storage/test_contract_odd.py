"""One contract for both stores: odd and hostile values. Oracle: what was put in comes back, or is kept aside."""

import re
from datetime import timedelta
from typing import Any

import pytest

from monitor.codec import decode, encode, plain
from monitor.ports import Entry
from monitor.results import RunRecord
from storage.interface import ReadStore
from storage.rows import project
from tests.storage.asks import metrics, put, verdict_ids
from tests.storage.factories import (
    START,
    endpoint,
    entries,
    exchange,
    incident,
    run_record,
    slot,
    verdict,
)

BAD: dict[str, tuple[str, bytes, str]] = {
    "unknown kind": ("dream", b"{}", "unknown kind 'dream'"),
    "not JSON": ("verdict", b"{", "not a Verdict"),
    "not text": ("slot", b"\xff\x00", "not a Slot"),
    "empty": ("run", b"", "not a RunRecord"),
    "wrong shape": ("endpoint", b'{"name": 3}', "not a Endpoint: name"),
    "a list": ("judged", b"[]", "not a JudgedRun"),
    "no zone": ("slot", encode(slot()).replace(b"12:00:00Z", b"12:00:00"), "slot_at: .* has no time zone"),
    "an integer beyond 64 bits": ("run", encode(run_record()).replace(b'"seed":7', b'"seed":' + b"9" * 40), "64-bit"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_noun_says_why(name: str) -> None:
    kind, data, reason = BAD[name]
    ((table, (row,)),) = project("w", Entry(7, kind, data)).items()
    assert (table, row["writer"], row["seq"], row["kind"]) == ("rejected", "w", 7, kind)
    assert re.search(reason, row["reason"])
    assert row["data"].encode("utf-8")[:3] == data.replace(b"\xff", b"\\xff")[:3]


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_noun_is_kept_aside_and_the_batch_goes_on(store: ReadStore, name: str) -> None:
    kind, data, _ = BAD[name]
    batch = [*entries(verdict("v1")), Entry(2, kind, data), *entries(verdict("v2"), start=3)]
    assert store.ingest("w", batch) == 3
    assert store.counts()["rejected"] == 1
    assert store.counts()["runs"] == 0
    assert verdict_ids(store, None, None) == ["v2", "v1"]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_becomes_null(store: ReadStore, value: str) -> None:
    data = encode(run_record()).replace(b'"value":50.0', b'"value":' + value.encode())
    store.ingest("w", [Entry(1, "run", data)])
    (record,) = store.runs("lab/faithful", None, limit=1)["records"]
    assert record["observations"][0]["value"] is None
    assert metrics(store)["ttft_ms"]["value"] is None
    assert store.counts()["rejected"] == 0


@pytest.mark.parametrize(
    "text", ["", "\x00", "a\x00b", "'; DROP TABLE runs; --", "\U0001f600\u202e\ufeff", '\\u0000 " \n', "x" * 3_000_000]
)
def test_hostile_text_comes_back_unchanged(store: ReadStore, text: str) -> None:
    record = run_record("r1", exchanges=[exchange(0, run_id="r1", error=text)], prober_version=text, vantage=text)
    put(store, record, verdict(reason=text), slot(reason=text), incident(reason=text))
    found = store.runs("lab/faithful", None, limit=1)["records"]
    assert decode(RunRecord, encode(found[0])) == record
    assert store.slots(None, since=None, limit=1)["slots"][0]["reason"] == text
    assert store.verdicts(None, None, limit=1)["verdicts"][0]["reason"] == text


def test_hostile_names_are_names(store: ReadStore) -> None:
    name = "p/'; DROP TABLE endpoints; --\x00\U0001f600"
    put(store, endpoint(name), run_record(endpoint=name))
    assert store.knows(name)
    assert [one["endpoint"] for one in store.overview()["endpoints"]] == [name]
    assert len(store.runs(name, None, limit=1)["records"]) == 1


def test_usage_of_the_wrong_type_is_kept_in_the_record_only(store: ReadStore) -> None:
    usage: dict[str, Any] = {"prompt_tokens": "12", "completion_tokens": -1, "x": [1.5, None]}
    record = run_record(exchanges=[exchange(usage=usage)])
    put(store, record)
    assert store.exchanges("lab/faithful", limit=1, outcome=None)["exchanges"][0]["usage"] == usage
    assert store.counts()["rejected"] == 0


def test_a_run_of_nothing(store: ReadStore) -> None:
    record = run_record(n=0, observations=[])
    put(store, record)
    assert store.runs("lab/faithful", None, limit=1)["records"] == [plain(record)]


def test_microseconds_survive(store: ReadStore) -> None:
    at = START + timedelta(microseconds=123457)
    put(store, slot(at=at))
    assert store.last_slots()["slots"][0]["slot_at"] == "2026-03-01T12:00:00.123457Z"


def test_any_zone_is_the_same_instant(store: ReadStore) -> None:
    data = encode(slot()).replace(b"12:00:00Z", b"17:30:00+05:30")
    store.ingest("w", [Entry(1, "slot", data)])
    assert store.last_slots()["slots"][0]["slot_at"] == "2026-03-01T12:00:00Z"
