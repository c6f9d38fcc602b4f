"""Tokens drawn from made distributions that are known as a whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monitor.stats.hypotheses import FAITHFUL, GOLDEN, SCALES, UNEXPLAINED
from monitor.stats.matched import Match
from monitor.stats.matched_draws import Draws
from monitor.stats.matched_text import match_text
from tests.detectors.made_draws import World, normal
from tests.detectors.made_identify import VARIANTS, Floats

FAMILIES = {name: family for name, (family, _, _) in VARIANTS.items()}
NAMES = tuple(VARIANTS)
PER = 24


def matched(draws: Draws, n: int, names: tuple[str, ...] = NAMES) -> Match:
    clusters = [str(at // PER) for at in range(n)]
    return match_text([], {name: [] for name in names}, [], FAMILIES, clusters, faithful_nats=0.063, drawn=draws)


def wrong(found: Match) -> float:
    """The posterior of everything that names a fault."""
    return 1 - found.families[FAITHFUL] - found.families[UNEXPLAINED]


@pytest.mark.parametrize("name", ["Q5_0", "Q4_0", "Q2_K"])
def test_the_served_scheme_is_named(name: str) -> None:
    # Oracle: what the tokens were drawn from.
    found = []
    for seed in range(5):
        made = World(seed, 480)
        found.append(matched(made.seen(made.draw(made.variants[name])), 480))
    assert all(one.schemes[0].name == name and one.schemes[0].posterior > 0.99 for one in found)


def test_golden_weights_are_never_taken_for_a_scheme() -> None:
    # Oracle: type I error; engines with errors of 0.06 nats that are the same for a token wherever it comes.
    found = []
    for seed in range(10):
        made = World(seed, 480)
        noisy = normal(made.golden + made.rng.normal(0, 0.06, made.golden.shape[1]))
        found.append(matched(made.seen(made.draw(noisy)), 480))
    assert not [
        one for one in found if any(p > 0.5 for f, p in one.families.items() if f not in {FAITHFUL, UNEXPLAINED})
    ]
    assert all(one.n_drawn == 480 and one.by_text and one.rms_nats is None for one in found)


def test_what_no_hypothesis_predicts_is_not_named() -> None:
    # Oracle: Q4_0 is served and nothing like it is in the bank.
    names = tuple(name for name in NAMES if name != "Q4_0")
    found = []
    for seed in range(10):
        made = World(seed, 480)
        found.append(matched(made.seen(made.draw(made.variants["Q4_0"]), names), 480, names))
    assert not [
        one for one in found if any(p > 0.99 for f, p in one.families.items() if f not in {FAITHFUL, UNEXPLAINED})
    ]


def test_probabilities_of_all_tokens_sum_to_one() -> None:
    # Oracle: every hypothesis is a distribution over the vocabulary; golden is one at every size of errors.
    made = World(3, 4)
    for column, gain in ((None, 1.0), (4, 1.0), (4, 0.4)):
        total = np.zeros((4, len(SCALES)))
        for token in range(made.golden.shape[1]):
            total += np.exp(made.seen(np.full(4, token)).log_likelihoods(column, gain, SCALES))
        # Strays may be of any rank, so the ranks beyond this vocabulary are missing; the spline is exact to 1e-3.
        assert_allclose(total, 1 - 0.02 / (made.golden.shape[1] + 1), atol=1e-3)


def test_errors_flatten_about_as_much_as_is_granted_to_them() -> None:
    # Oracle: the mean over drawn errors, simulated. A flattened token is further from golden than from that.
    made, size = World(5, 3), 0.5
    mean = np.mean([np.exp(normal(made.golden + made.rng.normal(0, size, (1, 60)))) for _ in range(4000)], axis=0)
    top = made.golden.argmax(axis=1)
    found = np.exp(made.seen(top).log_likelihoods(None, 1.0, np.array([size]))[:, 0])
    assert_allclose(found, mean.max(axis=1), atol=0.025)
    assert (np.abs(found - mean.max(axis=1)) < np.exp(made.golden.max(axis=1)) - found).all()


def test_choices_and_draws_are_weighed_together() -> None:
    # Oracle: log evidence of independent tokens adds up.
    made = World(8, 240, shrink=0.5)
    draws = made.seen(made.draw(made.variants["Q4_0"]))
    options = [np.argsort(-row)[:8] for row in made.golden[:48]]

    def listed(rows: Floats) -> list[Floats]:
        return [row[some] for row, some in zip(rows[:48], options, strict=True)]

    table, predicted = listed(made.golden), {name: listed(rows) for name, rows in made.variants.items()}
    taken = [int(row.argmax()) for row in predicted["Q4_0"]]
    clusters = [str(at // PER) for at in range(48)]
    alone = match_text(table, predicted, taken, FAMILIES, clusters, faithful_nats=0.063)
    both = match_text(table, predicted, taken, FAMILIES, [*clusters, *(f"d{at // PER}" for at in range(240))],
                      faithful_nats=0.063, drawn=draws)  # fmt: skip
    assert both.schemes[0].name == alone.schemes[0].name == "Q4_0"
    assert both.log_bayes > alone.log_bayes + 5
    assert (both.n, both.n_drawn, both.missed[GOLDEN]) == (288, 240, alone.missed[GOLDEN])
