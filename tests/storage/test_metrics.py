"""``/metrics``. Oracle: the text read back by a parser written from the format's description, and counts by hand."""

import re
from collections.abc import Iterator

import httpx
import pytest

from monitor.results import Observation
from storage.api import app
from storage.interface import ReadStore
from storage.prometheus import Family, Sample, rendered
from tests.storage.asks import put
from tests.storage.factories import endpoint, entries, exchange, incident, minutes, run_record, slot, verdict

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = rf'({_NAME})="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
_LINE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (\S+)")
_UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def _parsed(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# "):
            assert re.fullmatch(rf"# (HELP {_NAME} .*|TYPE {_NAME} (counter|gauge|histogram))", line), line
            continue
        match = _LINE.fullmatch(line)
        assert match, line
        labels = {
            name: re.sub(r'\\[\\"n]', lambda escape: _UNESCAPED[escape[0]], value)
            for name, value in re.findall(_LABEL, match[2] or "")
        }
        yield match[1], labels, float(match[match.re.groups])


async def _scrape(store: ReadStore) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    transport = httpx.ASGITransport(app(store, version="1.2.3"))
    async with httpx.AsyncClient(transport=transport, base_url="http://store") as client:
        reply = await client.get("/metrics")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {(name, tuple(sorted(labels.items()))): value for name, labels, value in _parsed(reply.text)}


@pytest.mark.parametrize("value", ["plain", "", 'a"b', "a\\b", "a\nb", '\\"\n\\n', "}", "ü€\U0001f600", "a,b=c"])
def test_any_label_comes_back(value: str) -> None:
    one = Sample(labels={"a": value, "b": "2"}, value=1)
    family = Family(name="x", kind="gauge", text="line\nbreak \\", samples=(one,))
    assert list(_parsed(rendered([family]))) == [("x", {"a": value, "b": "2"}, 1.0)]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (3.0, "3"), (0.1, "0.1"), (1e300, "1e+300"), (float("nan"), "NaN"), (float("inf"), "+Inf"),
     (-float("inf"), "-Inf"), (-2.5, "-2.5")],
)  # fmt: skip
def test_numbers(value: float, text: str) -> None:
    assert rendered([Family(name="x", kind="gauge", text="t", samples=(Sample(labels={}, value=value),))]).endswith(
        f"\nx {text}\n"
    )


def test_a_family_without_samples_is_left_out() -> None:
    assert rendered([Family(name="x", kind="gauge", text="t", samples=())]) == ""


async def test_an_empty_store_has_metrics(store: ReadStore) -> None:
    found = await _scrape(store)
    assert found["weighmaster_build_info", (("version", "1.2.3"),)] == 1
    assert found["weighmaster_store_works", ()] == 1


async def test_exchanges_are_counted_once_however_often_they_are_sent(store: ReadStore) -> None:
    asked = [
        exchange(0, run_id="r1", first_event_ms=30.0, ttft_ms=45.0, eof_ms=700.0, tpot_ms=12.0, measurement="valid"),
        exchange(1, run_id="r1", first_event_ms=400.0, ttft_ms=400.0, eof_ms=90_000.0, measurement="valid", usage=None),
        exchange(2, run_id="r1", outcome="stalled", ttft_ms=None, tpot_ms=None, eof_ms=5000.0, measurement="no token",
                 usage=None),
        exchange(3, run_id="r1", ttft_ms=1.0, eof_ms=1.0, measurement="prober busy", usage=None),
        exchange(4, run_id="r1", ttft_ms=1.0, eof_ms=1.0, measurement=None, usage=None),  # timed by somebody else
    ]  # fmt: skip
    batch = entries(run_record("r1", exchanges=asked), slot())
    for _ in range(2):
        store.ingest("w", batch)
    found = await _scrape(store)
    where = (("endpoint", "lab/faithful"), ("outcome", "ok"), ("probe", "speed"), ("vantage", "test"))
    assert found["weighmaster_exchanges_total", where] == 4
    assert found["weighmaster_slots_total", (where[0], where[2], ("state", "done"))] == 1
    said = (("endpoint", "lab/faithful"), ("gen_ai_operation_name", "chat"), ("gen_ai_provider_name", "lab"),
            ("gen_ai_request_model", "smollm2"))  # fmt: skip
    ttft = "weighmaster_ttft_seconds"
    assert [found[ttft + "_bucket", (*said, ("le", edge))] for edge in ("0.04", "0.06", "0.25", "0.5", "+Inf")] == [
        0, 1, 1, 2, 2,
    ]  # fmt: skip
    assert found[ttft + "_count", said] == 2
    assert found[ttft + "_sum", said] == pytest.approx(0.445)
    first = "gen_ai_client_operation_time_to_first_chunk_seconds"
    assert found[first + "_sum", said] == pytest.approx(0.43)
    duration = "gen_ai_client_operation_duration_seconds"
    assert found[duration + "_bucket", (*said, ("le", "81.92"))] == 1
    assert found[duration + "_bucket", (*said, ("le", "+Inf"))] == 2
    assert found[duration + "_count", tuple(sorted((*said, ("error_type", "stalled"))))] == 1
    tokens = "gen_ai_client_token_usage"
    assert found[tokens + "_sum", (*said, ("gen_ai_token_type", "input"))] == 12
    assert found[tokens + "_bucket", (*said, ("gen_ai_token_type", "output"), ("le", "1"))] == 1


async def test_gauges_show_the_newest_and_absence_is_no_zero(store: ReadStore) -> None:
    gone = Observation(metric="tps", value=None, n=0, reason="no answer")
    put(store, endpoint(precision=None), run_record("r1", observations=[gone, Observation(metric="x", value=2.5, n=1)]))
    put(store, run_record("r2", at=minutes(1), exchanges=[exchange(0, run_id="r2", outcome="stalled")], lag_ms=None))
    put(store, verdict(status="fail", cause="weights", effect=None), incident(endpoint="lab/faithful"))
    found = await _scrape(store)
    name = ("endpoint", "lab/faithful")
    assert found["weighmaster_metric", (name, ("metric", "x"))] == 2.5
    assert ("weighmaster_metric", (name, ("metric", "tps"))) not in found
    detector = ("detector", "logprob_fidelity")
    assert found["weighmaster_verdict", (("cause", "weights"), detector, name, ("status", "fail"))] == 1
    assert not any(family == "weighmaster_verdict_effect" for family, _ in found)
    assert found["weighmaster_incidents_open", (name,)] == 1
    vantage = ("vantage", "test")
    assert found["weighmaster_endpoint_up", (name, vantage)] == 0
    assert found["weighmaster_last_run_timestamp_seconds", (name, vantage)] == minutes(1).timestamp()
    assert not any(family == "weighmaster_prober_lag_seconds" for family, _ in found)
    assert found["weighmaster_endpoint_info", (name, ("model", "smollm2"), ("precision", ""), ("provider", "lab"),
                                               ("reference", "smollm2"))] == 1  # fmt: skip


async def test_no_prompt_answer_or_error_becomes_a_label(store: ReadStore) -> None:
    secret = "SECRET-123"
    put(store, run_record("r1", exchanges=[exchange(0, run_id="r1", error=secret)]), verdict(reason=secret))
    transport = httpx.ASGITransport(app(store))
    async with httpx.AsyncClient(transport=transport, base_url="http://store") as client:
        text = (await client.get("/metrics")).text
    assert secret not in text
    assert "Say hi" not in text
