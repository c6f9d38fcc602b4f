"""The order of prompts that tells hypotheses apart soonest."""

import numpy as np

from monitor.stats.design import design

FAMILIES = {"Q8_0": "8-bit", "Q4_0": "4-bit", "int4": "4-bit", "bf16": "bf16-class"}


def rows(*sizes: float) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    return [size * np.array([1.0, -1.0, 1.0, -1.0]) for size in sizes]


def test_the_hardest_pair_comes_first() -> None:
    # Oracle: by hand. 4-bit is far from all everywhere; only where 8 bit deviates is it told from golden weights.
    order = design({"Q8_0": rows(0.01, 0.2, 0.05, 0.1), "Q4_0": rows(9, 8, 7, 9)}, FAMILIES)
    assert order == [1, 3, 2, 0]


def test_what_is_decided_already_counts_no_more() -> None:
    # Oracle: by hand, factors of 1.7, 2.4 and 1.1 nats. After the best prompt, the only one that tells the other family
    # is next, though a third says more of what is known by then.
    order = design({"Q8_0": rows(0.1, 0.12, 0.0), "Q4_0": rows(0.0, 0.0, -0.08)}, FAMILIES)
    assert order == [1, 2, 0]


def test_schemes_of_a_family_need_not_be_told_apart() -> None:
    # Oracle: by hand. Two of a family differ at prompt 0 alone, which says nothing of the family.
    order = design({"Q4_0": rows(0.0, 0.3), "int4": rows(0.0, 0.5)}, FAMILIES)
    assert order == [1, 0]


def test_each_prompt_once_and_nothing_to_tell_keeps_the_order() -> None:
    found = design({"Q8_0": [np.random.default_rng(at).normal(size=5) for at in range(30)]}, FAMILIES)
    assert sorted(found) == list(range(30))
    assert design({"bf16": rows(1, 2, 3)}, FAMILIES) == [0, 1, 2]
