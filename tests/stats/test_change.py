"""E-detectors: recursions by hand, the bound on false alarms, delays, and the size of fleets (bar B16 in small)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.betabinomial import flip_log_ratios
from monitor.stats.change import Kind, e_detector, fleet_threshold
from tests.stats.worlds import flips


def test_recursions_by_hand() -> None:
    # SR: (1+0)2 = 2, (1+2)3 = 9, (1+9)/2 = 5. CUSUM: 2, 6, 3.
    steps = np.log([[2.0], [3.0], [0.5]])
    assert np.exp(e_detector(steps, threshold=9.0).log_m) == pytest.approx([2, 9, 5])
    assert np.exp(e_detector(steps, threshold=9.0, kind="cusum").log_m) == pytest.approx([2, 6, 3])


def test_starts_afresh_after_an_alarm() -> None:
    found = e_detector(np.log([[5.0], [5.0], [5.0]]), threshold=np.log(20), kind="cusum")
    assert found.alarms == (1,)
    assert np.exp(found.log_m) == pytest.approx([5, 25, 5])


def test_alternatives_are_averaged() -> None:
    found = e_detector(np.log([[2.0, 4.0], [1.0, 3.0]]), threshold=9.0, weights=[0.5, 0.5])
    assert np.exp(found.log_m) == pytest.approx([3, (3 + 15) / 2])


@given(
    st.lists(st.integers(-500, 500), min_size=2, max_size=40),
    st.sampled_from(["shiryaev_roberts", "cusum"]),
    st.integers(50, 600),
    st.data(),
)
def test_two_calls_continue_one_run(steps: list[int], kind: Kind, hundredths: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(steps) - 1))
    # Half hundredths: sums never lie on the threshold, where rounding would decide.
    column, threshold = np.asarray(steps)[:, np.newaxis] / 100, (hundredths + 0.5) / 100
    whole = e_detector(column, threshold=threshold, kind=kind)
    first = e_detector(column[:cut], threshold=threshold, kind=kind)
    second = e_detector(column[cut:], threshold=threshold, kind=kind, state=first.state)
    assert np.concatenate([first.log_m, second.log_m]) == pytest.approx(whole.log_m)
    assert first.alarms + tuple(alarm + cut for alarm in second.alarms) == whole.alarms


@pytest.mark.parametrize("kind", ["shiryaev_roberts", "cusum"])
def test_false_alarms_are_bounded(kind: Kind) -> None:
    """Threshold c = 50 over 400 null looks in 200 worlds: at most 400 / 50 alarms a world on average, and not none."""
    rng = np.random.default_rng(30)
    alarms = [
        len(e_detector(rng.normal(-0.5, 1, (400, 1)), threshold=np.log(50), kind=kind).alarms) for _ in range(200)
    ]
    assert 0.3 < np.mean(alarms) <= 8


def test_delay_and_start_of_a_change() -> None:
    """Flips go from 2.5% to 4% at look 300 of 400, looks of 10 x 20 tokens, threshold of a fleet of 1,200 streams."""
    rng = np.random.default_rng(31)
    threshold = fleet_threshold(1200, 720)
    delays, starts = [], []
    for _ in range(30):
        k = np.concatenate([flips(rng, p=p, rho=0.01, size=size, n=20) for p, size in ((0.025, 3000), (0.04, 1500))])
        requests = flip_log_ratios(k, np.full(4500, 20), p0=0.025, rho=0.01)
        found = e_detector(requests.reshape(450, 10, -1).sum(axis=1), threshold=threshold)
        assert found.alarms
        assert found.changed_at is not None
        delays.append(found.alarms[0] - 300)
        starts.append(found.changed_at - 300)
    assert min(delays) > 0
    assert np.median(delays) <= 30
    assert abs(np.median(starts)) <= 3


def test_a_fleet_pages_once_a_month_at_most() -> None:
    """B16: 200 x 6 streams, hourly for 30 days: c = 864,000 (13.7 nats); 40 endpoints for 10 days here: no page."""
    assert fleet_threshold(1200, 720) == pytest.approx(np.log(864_000))
    rng = np.random.default_rng(32)
    threshold = fleet_threshold(240, 240)
    pages = 0
    for _ in range(240):
        k = flips(rng, p=0.025, rho=0.01, size=240)
        pages += len(e_detector(flip_log_ratios(k, np.full(240, 200), p0=0.025, rho=0.01), threshold=threshold).alarms)
    assert pages <= 4  # expected at most 1; P(Poisson(1) > 4) = .004


def test_unusable_input() -> None:
    with pytest.raises(ValueError, match="n_streams"):
        fleet_threshold(0, 720)
    with pytest.raises(ValueError, match="state"):
        e_detector([[0.0]], threshold=3.0, state=(0.0, 0.0))
    with pytest.raises(ValueError, match="log_e"):
        e_detector([], threshold=3.0)
