"""Choices of a made endpoint whose logprobs are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monitor.stats.hypotheses import GOLDEN, SCALES, UNEXPLAINED
from monitor.stats.matched import Match
from monitor.stats.matched_text import match_text
from tests.detectors.made_identify import VARIANTS, Floats, World, world

FAMILIES = {name: family for name, (family, _, _) in VARIANTS.items()}


def matched(made: World, served: Floats, *, per: int = 12, without: tuple[str, ...] = ()) -> Match:
    predicted = {name: list(made.golden + one) for name, one in made.deviations.items() if name not in without}
    clusters = [str(at // per) for at in range(len(served))]
    return match_text(
        list(made.golden), predicted, served.argmax(axis=1).tolist(), FAMILIES, clusters, faithful_nats=0.063
    )


@pytest.mark.parametrize("name", ["Q5_0", "Q4_0", "rope-x0.1", "Q2_K"])
def test_the_served_scheme_is_named_out_of_few_tokens(name: str) -> None:
    # Oracle: what was served, with errors of 0.1 nats in the engine.
    made = [world(seed, n=120) for seed in range(10)]
    found = [matched(one, one.served(name)) for one in made]
    assert sum(one.schemes[0].name == name and one.schemes[0].posterior > 0.99 for one in found) >= 9


def test_errors_that_nothing_predicts_are_unexplained() -> None:
    # Oracle: type I error; 0.7 nats, as wide as those of a cache in 4 bit, and no hypothesis has made them.
    made = [world(seed, n=120, noise=0.7) for seed in range(20)]
    found = [matched(one, one.served(None)) for one in made]
    assert sum(one.schemes[0].name == UNEXPLAINED for one in found) >= 19
    assert not [one for one in found if max(p for f, p in one.families.items() if f != UNEXPLAINED) > 0.99]


def test_8_bit_is_not_decided_by_few_tokens() -> None:
    # Oracle: honesty; what deviates by 0.07 nats changes hardly a choice of 60.
    found = [matched(one, one.served("Q8_0")) for one in (world(seed, n=60, noise=0.02) for seed in range(20))]
    assert sum(one.families["bf16-class"] > 0.95 for one in found) <= 1


def test_the_likelihood_is_that_of_the_choice_rule() -> None:
    # Oracle: Luce's rule written out for one position, golden against one hypothesis, without strays.
    golden, other, chosen = np.log([0.6, 0.4]), np.log([0.3, 0.7]), 1
    found = match_text([golden], {"h": [other]}, [chosen], {"h": "f"}, ["p"], faithful_nats=0.002)
    t = np.sqrt(6) / np.pi

    def rule(row: Floats, nats: float) -> float:
        scaled = np.exp((row - row.max()) / (nats * t))
        return float(scaled[chosen] / scaled.sum())

    def seen(row: Floats, nats: float) -> float:
        return 0.98 * rule(row, nats) + 0.02 * rule(row, 1.0)

    faithful = SCALES[:2]
    expected = np.log(np.mean([seen(golden, nats) for nats in faithful]))
    ratio = np.log(found.families["f"] / (5 / 12)) - np.log(
        next(one.posterior for one in found.schemes if one.name == GOLDEN) / (1 / 3)
    )
    noise = SCALES[SCALES <= 0.3]
    shares = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])

    def mixed(gain: float) -> float:
        rows = np.array([seen(golden + gain * (other - golden), nats) for nats in noise])
        gold = np.array([seen(golden, nats) for nats in faithful])
        parts = [np.mean(share * rows[:, None] + (1 - share) * gold) for share in shares]
        return 0.9 * float(rows.mean()) + 0.1 * float(np.mean(parts))

    def noisy() -> float:  # golden weights with noise for the rest, a twentieth of the prior
        rows, gold = (np.mean([seen(one, nats) for nats in noise]) for one in (other, golden))
        return float(np.mean([share * rows + (1 - share) * gold for share in shares]))

    likelihood = 0.95 * (mixed(0.8) + mixed(1.0)) / 2 + 0.05 * noisy()
    assert_allclose(ratio, np.log(likelihood) - expected, rtol=1e-6)


def test_tokens_beyond_those_that_come_into_question_change_nothing() -> None:
    # Oracle: the same tables with rows of different length.
    made = world(2, n=24)
    served = made.served("Q4_0").argmax(axis=1).tolist()
    short = [row[: max(served[at] + 1, 5 + at % 7)] for at, row in enumerate(made.golden)]
    predicted = {
        name: [(made.golden[at] + other[at])[: len(row)] for at, row in enumerate(short)]
        for name, other in made.deviations.items()
    }
    found = match_text(short, predicted, served, FAMILIES, [str(at) for at in range(24)])
    assert found.schemes[0].name == "Q4_0"
    assert found.missed["Q4_0"] <= 3 < found.missed[GOLDEN]
