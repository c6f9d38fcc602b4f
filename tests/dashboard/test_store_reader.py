"""Oracles: what the real read API was given; for faults, the transport that was scripted."""

from datetime import timedelta

import httpx
import pytest

from dashboard.store_reader import StoreReader
from monitor.errors import StoreError
from tests.dashboard import scenes
from tests.dashboard.scenes import DEGRADED, FAITHFUL, NOW
from tests.dashboard.store import stored

TOKEN = "t-1"


def answering(response: httpx.Response) -> StoreReader:
    return StoreReader("http://store.test", transport=httpx.MockTransport(lambda request: response))


def test_the_overview_of_the_real_api_reads_back_as_nouns() -> None:
    with stored(scenes.full()) as url, StoreReader(url) as reader:
        endpoints = {endpoint.endpoint: endpoint for endpoint in reader.overview()}
    degraded = endpoints[DEGRADED]
    assert len(endpoints) == 5
    assert degraded.precision == "bf16"
    assert degraded.last_run_at == NOW - timedelta(minutes=1)
    assert {verdict.detector: verdict.status for verdict in degraded.verdicts}["logprob_fidelity"] == "fail"
    assert [incident.incident_id for incident in degraded.incidents] == ["i-1"]
    assert (degraded.metrics["success_rate"].k, degraded.metrics["success_rate"].n) == (4, 5)


def test_series_and_exchanges_of_the_real_api_read_back() -> None:
    with stored(scenes.full()) as url, StoreReader(url) as reader:
        points = reader.series(FAITHFUL, "ttft_ms_p50", since=NOW - timedelta(hours=2), until=NOW, buckets=1440)
        exchanges = reader.exchanges(FAITHFUL, limit=7)
    assert len(points) == 60
    assert points[-1].at < NOW
    assert len(exchanges) == 7
    assert exchanges[0].choice.content == "Four."


def test_an_empty_store_is_no_error() -> None:
    with stored([]) as url, StoreReader(url) as reader:
        assert reader.overview() == ()


def test_the_token_opens_a_guarded_store_and_its_absence_says_what_to_do() -> None:
    with stored(scenes.one_point(), token=TOKEN) as url:
        with StoreReader(url, token=TOKEN) as reader:
            assert len(reader.overview()) == 1
        with StoreReader(url) as reader, pytest.raises(StoreError, match="WEIGHMASTER_TOKEN"):
            reader.overview()


def test_a_refusal_is_passed_on_in_the_stores_own_words() -> None:
    with stored(scenes.one_point()) as url, StoreReader(url) as reader, pytest.raises(StoreError, match="no endpoint"):
        reader.exchanges("lab/gone")


@pytest.mark.parametrize(
    "fault", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("torn")]
)
def test_a_silent_store_is_one_error_that_names_place_and_remedy(fault: httpx.TransportError) -> None:
    def send(request: httpx.Request) -> httpx.Response:
        raise fault

    reader = StoreReader("http://user:secret@store.test:8400/", transport=httpx.MockTransport(send))
    with pytest.raises(StoreError, match=r"does not answer at http://store\.test:8400 .*weighmaster up") as caught:
        reader.overview()
    assert "secret" not in str(caught.value)
    assert type(fault).__name__ in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"endpoints": 3}', b'{"endpoints": [{"endpoint": "a"}]}'])
def test_an_answer_that_is_not_the_contract_is_named_as_such(body: bytes) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        answering(httpx.Response(200, content=body)).overview()


def test_an_error_page_without_words_still_says_its_status() -> None:
    with pytest.raises(StoreError, match=r"HTTP 502\): no reason given"):
        answering(httpx.Response(502, content=b"<html>bad gateway</html>")).overview()


def test_a_url_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(StoreError, match="URL cannot be read"):
        StoreReader("http://[::1")
