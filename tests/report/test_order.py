"""Who is surely better. Oracle: intervals drawn by hand, and random ones against the definition of places."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from monitor.comparison import Estimate, Measure
from monitor.comparison_measures import measure
from monitor.comparison_order import ranking, surely_better
from monitor.comparison_words import order_text
from tests.storage.factories import START

KL, TTFT, AVAILABILITY, PRICE = (measure(name) for name in ("kl", "ttft_ms", "availability", "price_in_usd"))


def est(low: float | None, high: float | None, **changes: Any) -> Estimate:
    value = None if low is None or high is None else (low + high) / 2
    return Estimate(**{"value": value, "low": low, "high": high, "n": 10, **changes})


def shown(card: Measure, **estimates: Estimate) -> str:
    return order_text(ranking(card, estimates))


def test_apart_is_an_order_and_overlap_is_a_tie() -> None:
    found = ranking(TTFT, {"a": est(1, 2), "b": est(3, 4), "c": est(3.5, 6)}).places
    assert {name: (one.best, one.worst) for name, one in found.items()} == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}
    assert shown(TTFT, a=est(1, 2), b=est(3, 4), c=est(3.5, 6)) == "1. a; 2. b and c (tied)"


def test_ends_that_touch_are_a_tie() -> None:
    assert not surely_better(TTFT, est(1, 2), est(2, 3))
    assert surely_better(TTFT, est(1, 2), est(2.001, 3))


def test_ties_are_not_transitive_and_places_say_so() -> None:
    """B overlaps with A and C, and A is surely better than C: no order of all three can be told."""
    three = {"a": est(1, 3), "b": est(2, 5), "c": est(4, 6)}
    found = ranking(TTFT, three).places
    assert {name: (one.best, one.worst) for name, one in found.items()} == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    assert ranking(TTFT, three).tiers == (("a", "b", "c"),)


def test_no_order_at_all_is_no_ranking() -> None:
    same = {"a": est(1, 5), "b": est(2, 6)}
    assert not ranking(TTFT, same).decided
    assert shown(TTFT, **same) == "no ranking, the data allow none"
    assert shown(TTFT, a=est(1, 2), b=est(None, None)) == "only a was measured (not measured: b)"


def test_without_an_interval_nothing_is_sure() -> None:
    alone = {"a": Estimate(value=1.0, n=1), "b": Estimate(value=900.0, n=1)}
    assert shown(TTFT, **alone) == "no ranking, the data allow none (no interval, so no place: a and b)"
    found = ranking(TTFT, {**alone, "c": est(3, 4), "d": est(5, 6)})
    assert (found.tiers, found.without_interval) == ((("c",), ("d",)), ("a", "b"))
    assert set(found.places) == {"c", "d"}


def test_higher_is_better_where_it_is() -> None:
    assert shown(AVAILABILITY, a=est(0.2, 0.4), b=est(0.8, 1.0)) == "1. b; 2. a"


def test_exact_prices_are_ordered_and_equal_ones_are_tied() -> None:
    price = {name: Estimate(value=usd, exact=True) for name, usd in (("a", 0.2), ("b", 0.1), ("c", 0.2))}
    assert shown(PRICE, **price) == "1. b; 2. a and c (tied)"


def test_faithful_ones_are_tied_however_near_golden_they_are() -> None:
    """Both within what is tolerated: engines of one precision differ by that much."""
    near, less, off = (est(low, high, threshold=0.002) for low, high in ((1e-6, 2e-6), (1e-3, 1.5e-3), (0.2, 0.3)))
    assert shown(KL, near=near, less=less, off=off) == "1. less and near (tied); 3. off"


def test_a_looser_tolerance_does_not_make_two_alike() -> None:
    assert surely_better(KL, est(1e-4, 2e-4, threshold=0.002), est(5e-3, 8e-3, threshold=0.01))


def test_fewer_alternatives_are_a_lower_bound() -> None:
    """KL over 5 listed tokens is at most that over 20: the one with fewer can be called worse, never better."""
    few, many = est(0.2, 0.3, top_k=5), est(0.01, 0.02, top_k=20)
    assert surely_better(KL, many, few)
    assert not surely_better(KL, est(0.01, 0.02, top_k=5), est(0.2, 0.3, top_k=20))
    (remark,) = ranking(KL, {"few": few, "many": many}).remarks
    assert remark.startswith("few and many: divergences over different numbers of alternatives")


def test_other_golden_weights_cannot_be_compared() -> None:
    one, other = est(0.01, 0.02, basis="w1"), est(0.5, 0.6, basis="w2")
    assert ranking(KL, {"a": one, "b": other}).remarks == ("a and b: compared with different golden weights",)
    assert not ranking(KL, {"a": one, "b": other}).decided


def test_speed_at_other_times_or_from_other_places_cannot_be_compared() -> None:
    day, hour = timedelta(days=1), timedelta(hours=2)
    old = est(100, 110, basis="fra", first_at=START, last_at=START + hour)
    new = est(900, 990, basis="fra", first_at=START + day, last_at=START + day + hour)
    assert shown(TTFT, a=old, b=new) == "no ranking, the data allow none"
    assert ranking(TTFT, {"a": old, "b": new}).remarks == ("a and b: measured at different times",)
    far = est(900, 990, basis="iad", first_at=START, last_at=START + hour)
    assert ranking(TTFT, {"a": old, "b": far}).remarks == ("a and b: measured from different places",)
    # Of weights the day does not matter.
    assert surely_better(
        KL, est(0.1, 0.2, last_at=START, first_at=START), est(0.3, 0.4, first_at=START + day, last_at=START + day)
    )


@pytest.mark.parametrize("seed", range(20))
def test_places_hold_every_order_that_the_intervals_allow(seed: int) -> None:
    """Oracle: draw true values inside the intervals; the rank of each lies between best and worst, always."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(0, 10, size=(6, 2)), axis=1)
    names = [f"e{i}" for i in range(6)]
    found = ranking(TTFT, {name: est(low, high) for name, (low, high) in zip(names, ends.tolist(), strict=True)}).places
    for _ in range(50):
        drawn = rng.uniform(ends[:, 0], ends[:, 1])
        for index, rank in enumerate(np.argsort(np.argsort(drawn))):
            assert found[names[index]].best <= rank + 1 <= found[names[index]].worst


def test_tiers_are_apart_as_a_whole() -> None:
    """Where pairs cannot be compared the order is partial: nobody stands above somebody who is not surely worse."""
    three = {"a": est(1, 2, top_k=5), "b": est(3, 4, top_k=20), "c": est(5, 6, top_k=5)}
    found = ranking(KL, three)  # a and b differ in k the wrong way round; both are surely better than c
    assert found.tiers == (("a", "b"), ("c",))
    alone = ranking(KL, {"a": est(1, 2, top_k=5), "b": est(3, 4, top_k=20), "c": est(5, 6, top_k=20)})
    assert [set(tier) for tier in alone.tiers] == [{"a", "b", "c"}]  # b before c, but a before neither
    assert alone.decided
