"""The speed probe: which connections it uses, and which exchanges each of its metrics rests on."""

import pytest

from jobs.clock import SystemClock
from jobs.replay import Chunk, ReplayServer, Script
from monitor.ports import ProbeContext
from monitor.types import Endpoint, Exchange
from monitor.wire.dispatch import speaker
from probes.client import HttpClient
from probes.heartbeat import Heartbeat
from probes.speed import Speed, observe

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
GOOD = Script(chunks=(Chunk(0, EVENT), Chunk(1, b"data: [DONE]\n\n")))


def exchange(
    ttft_ms: float, *, reused: bool | None, measurement: str = "valid", connect_ms: float | None = None
) -> Exchange:
    return Exchange(outcome="ok", ttft_ms=ttft_ms, reused=reused, measurement=measurement, connect_ms=connect_ms)


def observed(*exchanges: Exchange) -> dict[str, tuple[float | None, int]]:
    return {item.metric: (item.value, item.n) for item in observe(exchanges)}


@pytest.mark.parametrize("n_fresh", [0, 1, 3])
def test_the_first_requests_ask_for_a_fresh_connection(n_fresh: int) -> None:
    asked = [request.fresh_connection for request in Speed(n_requests=3, n_fresh=n_fresh).requests(seed=1)]
    assert asked == [True] * n_fresh + [False] * (3 - n_fresh)


@pytest.mark.parametrize(
    ("n_fresh", "reused"), [(1, [False, True, True]), (3, [False, False, False]), (2, [False, False, True])]
)
async def test_a_run_uses_and_records_them(n_fresh: int, reused: list[bool]) -> None:
    """Oracle: the connections that the server saw."""
    clock = SystemClock()
    async with ReplayServer([GOOD]) as server, Heartbeat(clock).beating() as heartbeat:
        endpoint = Endpoint(name="test/one", provider="test", base_url=server.url, model="m")
        client = HttpClient(endpoint, speaker(endpoint), key=None, clock=clock, heartbeat=heartbeat)
        try:
            context = ProbeContext(clock=clock, seed=1, concurrency=1, report=lambda _done, _total: None)
            result = await Speed(n_requests=3, n_fresh=n_fresh).run(client, context)
            assert len(server.connections) == reused.count(False)
        finally:
            await client.aclose()
    assert [item.reused for item in result.exchanges] == reused
    assert all((item.connect_ms is None) == item.reused for item in result.exchanges)


def test_a_median_of_ttft_holds_one_kind_of_connection() -> None:
    found = observed(
        exchange(90.0, reused=False, connect_ms=5.0), exchange(40.0, reused=True), exchange(50.0, reused=True)
    )
    assert found["ttft_ms_p50"] == (45.0, 2)
    assert found["ttft_fresh_ms_p50"] == (90.0, 1)
    assert found["connect_ms_p50"] == (5.0, 1)


def test_where_no_connection_is_kept_all_are_fresh() -> None:
    found = observed(exchange(90.0, reused=False), exchange(100.0, reused=False))
    assert found["ttft_ms_p50"] == found["ttft_fresh_ms_p50"] == (95.0, 2)


def test_a_client_without_connections_has_no_fresh_ones() -> None:
    """The golden engine answers without a socket: `reused` is None there."""
    found = observed(exchange(7.0, reused=None))
    assert found["ttft_ms_p50"] == (7.0, 1)
    assert found["ttft_fresh_ms_p50"] == (None, 0)


def test_invalid_timings_stay_out() -> None:
    found = observed(exchange(90.0, reused=True, measurement="error bound above 5%"), exchange(60.0, reused=False))
    assert found["ttft_ms_p50"] == (60.0, 1)
    assert found["success_rate"] == (1.0, 2)
