"""speed_shift against made latencies: rhythm, memory and outliers are known, so every verdict is too."""

from typing import Any

import numpy as np
import pytest

from monitor.detectors.speed_shift import SpeedShift
from monitor.results import Evidence, Verdict
from tests.detectors.made import AT
from tests.detectors.made_history import Floats, evidence_of, latencies, speed_runs


def judge(made: Evidence, **fields: Any) -> Verdict:
    return SpeedShift(**fields).run(made, at=AT, rng=np.random.default_rng(0))


def made_of(
    seed: int, *, n: int = 169, since: int = 8, ttft: float = 1.0, tpot: float = 1.0, **world: float
) -> Evidence:
    """`n` runs; in the last `since` of them latencies are multiplied."""
    rng = np.random.default_rng(seed)
    late = np.arange(n) >= n - since
    starts: Floats = 300 * np.exp(latencies(rng, n, **world)) * np.where(late, ttft, 1.0)
    tokens: Floats = 20 * np.exp(latencies(rng, n, **world) / 2) * np.where(late, tpot, 1.0)
    return evidence_of(speed_runs(starts, tokens))


def test_rhythm_memory_and_outliers_raise_no_alarm() -> None:
    """Oracle: nothing changes; one false page in 144,000 looks is allowed, so none in 60."""
    for seed in range(30):
        assert judge(made_of(seed)).status == "pass"
        assert judge(made_of(seed, memory=0.9, spikes=0.1)).status in {"pass", "inconclusive"}


@pytest.mark.parametrize(
    ("ttft", "tpot", "cause"), [(2.0, 1.0, "slower_start"), (1.0, 2.0, "slower_tokens")]
)
def test_twice_the_time_is_found_within_eight_runs(ttft: float, tpot: float, cause: str) -> None:
    """Oracle: a factor of 2 in one latency; in at least 18 of 20 worlds."""
    found = [judge(made_of(seed, ttft=ttft, tpot=tpot)) for seed in range(20)]
    assert sum((one.status, one.cause) == ("fail", cause) for one in found) >= 18
    failed = next(one for one in found if one.status == "fail")
    assert failed.low is not None
    assert failed.low < 2.0 < (failed.high or 0)


def test_one_slow_run_is_no_page() -> None:
    """Oracle: a single run ten times slower; the cap on its evidence is 4 nats."""
    assert judge(made_of(1, since=1, ttft=10.0)).status in {"pass", "inconclusive"}


def test_recovery_ends_the_fail() -> None:
    """Oracle: slow for 6 runs, then as before for 4: no `persist` of the last `persist_of` runs are slow."""
    rng = np.random.default_rng(3)
    slow = np.where((np.arange(169) >= 159) & (np.arange(169) < 165), 3.0, 1.0)
    records = speed_runs(300 * np.exp(latencies(rng, 169)) * slow, np.full(169, 20.0))
    assert judge(evidence_of(records[:165])).status == "fail"
    assert judge(evidence_of(records)).status != "fail"


def test_faster_is_told_and_passes() -> None:
    """Oracle: half the time is no fault."""
    found = judge(made_of(4, ttft=0.5))
    assert (found.status, found.band, found.cause) == ("pass", "faster", None)


def test_invalid_measurements_are_never_judged() -> None:
    """Oracle: ten times slower, but the prober says that it could not measure."""
    records = speed_runs(np.full(60, 300.0), np.full(60, 20.0))
    busy = speed_runs(np.full(64, 3000.0), np.full(64, 200.0), measurement="prober busy")
    found = judge(evidence_of([*records, *busy[60:]]))
    assert (found.status, found.cause) == ("inconclusive", "no_measurement")


def test_fresh_connections_are_compared_with_fresh_ones() -> None:
    """Oracle: only the exchange on a fresh connection is slow, by 3."""
    before = speed_runs(np.full(60, 300.0), np.full(60, 20.0))
    after = speed_runs(np.full(68, 300.0), np.full(68, 20.0), cold_ms=1200.0)[60:]
    found = judge(evidence_of([*before, *after]))
    assert (found.status, found.cause, found.details["latency"]) == ("fail", "slower_start", "ttft_cold")
    assert found.details["ttft_warm_ratio"] == pytest.approx(1.0)


def test_too_little_history_is_inconclusive() -> None:
    """Oracle: 10 runs, of which 12 are needed before the newest."""
    found = judge(made_of(5, n=10, since=1))
    assert (found.status, found.cause) == ("inconclusive", "no_history")


@pytest.mark.parametrize("fields", [{"tolerance_ratio": 0.9}, {"persist": 9}, {"min_history": 2}, {"floor": 0.0}])
def test_refuses_fields_that_make_no_sense(fields: dict[str, Any]) -> None:
    """Oracle: the message names the field."""
    with pytest.raises(ValueError, match=next(iter(fields))):
        SpeedShift(**fields)
