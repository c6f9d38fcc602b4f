"""Endpoints from several places. Oracle: counts by hand, and scipy-free order statistics of twenty values."""

from datetime import UTC, datetime

from monitor.alerting.facts import Sample
from monitor.regions import regions

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def sample(vantage: str, n: int, outcome: str = "ok", probe: str = "speed", **more: str | float) -> Sample:
    fields = {"ttft_ms": float(n), "tps": 100.0 - n, **more}
    return Sample(
        endpoint="a/x", exchange_id=f"{vantage}{n}", at=AT, probe=probe, vantage=vantage, outcome=outcome, **fields  # type: ignore[arg-type]
    )


def test_each_place_has_its_own_figures() -> None:
    eu = [sample("eu", n) for n in range(1, 21)]
    odd = [
        sample("eu", 500, probe="logprobs"), sample("eu", 600, outcome="stalled"),
        sample("eu", 700, outcome="rate_limited"), sample("eu", 800, maintenance="they move"),
    ]  # fmt: skip
    us = [sample("us", 30, outcome="rate_limited")]
    first, second = regions([*us, *odd, *eu])
    assert [(one.endpoint, one.vantage) for one in (first, second)] == [("a/x", "eu"), ("a/x", "us")]
    assert (first.answered.k, first.answered.n) == (21, 22)
    assert first.ttft_ms is not None
    assert (first.ttft_ms.value, first.ttft_ms.low, first.ttft_ms.high, first.ttft_ms.n) == (10.5, 6, 15, 20)
    assert first.tps is not None
    assert first.tps.value == 89.5
    assert (second.answered.n, second.answered.value, second.ttft_ms, second.tps) == (0, None, None, None)
