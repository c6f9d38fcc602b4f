"""Routed shares: the mixture by hand, false alarms, and bar B9 in small."""

import numpy as np
import pytest

from monitor.stats.betabinomial import flip_log_ratios
from monitor.stats.routing import routing_process, routing_share
from tests.stats.worlds import flips


def ratios(rng: np.random.Generator, share: float, looks: int) -> np.ndarray:
    """Requests of 200 tokens: 2% flips, or 6% on the other backend."""
    other = rng.random(looks) < share
    k = np.where(other, flips(rng, p=0.06, rho=0.01, size=looks), flips(rng, p=0.02, rho=0.01, size=looks))
    return flip_log_ratios(k, np.full(looks, 200), p0=0.02, rho=0.01, ratios=(2, 3, 5))


def test_mixture_by_hand() -> None:
    # w = .5 and 1 over one alternative with ratios 3, 1/3: products (2 * 2/3, 3 * 1/3).
    process = routing_process(np.log([[3.0], [1 / 3]]), shares=(0.5, 1.0))
    assert np.exp(process.log_e) == pytest.approx([2.5, (4 / 3 + 1) / 2])


def test_no_false_alarm_without_routing() -> None:
    """B9 at alpha = .001: at most 3 alarms in 400 worlds of 400 requests (99.9% bound 4)."""
    rng = np.random.default_rng(90)
    assert sum(routing_process(ratios(rng, 0.0, 400)).looks_to(0.001) is not None for _ in range(400)) <= 3


@pytest.mark.parametrize(("share", "looks", "least"), [(0.1, 400, 0.75), (0.2, 150, 0.82)])
def test_power(share: float, looks: int, least: float) -> None:
    """B9: 20% routed within 150 requests, 10% within 400 (full-size: .84 and .89; here three sigma below)."""
    rng = np.random.default_rng(91)
    found = sum(routing_process(ratios(rng, share, looks)).looks_to(0.001) is not None for _ in range(200))
    assert found / 200 >= least


def test_share_and_its_interval() -> None:
    """20% routed: the interval holds it in at least 92 of 100 worlds, at 400 looks, and excludes 0 in most."""
    rng = np.random.default_rng(92)
    found = [routing_share(ratios(rng, 0.2, 400)) for _ in range(100)]
    assert sum(one.low <= 0.2 <= one.high for one in found) >= 92
    assert sum(one.low > 0 for one in found) >= 90
    assert np.mean([one.share for one in found]) == pytest.approx(0.2, abs=0.04)


def test_no_routing_gives_zero_and_all_gives_one() -> None:
    nothing = routing_share(np.log(np.full((50, 1), 0.5)))
    everything = routing_share(np.log(np.full((50, 2), [2.0, 4.0])))
    assert (nothing.share, nothing.low) == (0.0, 0.0)
    assert (everything.share, everything.high, everything.alternative) == (1.0, 1.0, 1)


def test_unusable_input() -> None:
    with pytest.raises(ValueError, match="shares"):
        routing_process([[0.0]], shares=[0.0])
    with pytest.raises(ValueError, match="log_ratios"):
        routing_share([])
