"""What is not known is None, in the clues of profiles and flips; evidence of one token an answer, or of none before."""

import pytest

from monitor.divergence_profile import profile_of
from monitor.flip_clues import clues_of
from monitor.greedy_answers import GreedyAnswer, by_text, greedy_answers
from monitor.stats.routing import RoutingShare
from tests.detectors.made_greedy import greedy_evidence, leaning

ALL = RoutingShare(share=1.0, low=0.9, high=1.0, alternative=0, confidence=0.95, n=4)


def answers(n: int, tokens: int) -> list[GreedyAnswer]:
    return greedy_answers(leaning(n, tokens, context=0.4), {"greedy"})[0]


def test_answers_of_one_token_have_neither_slope_nor_second_half() -> None:
    found = profile_of(answers(8, 1), 0.002)
    assert (found.slope, found.slope_low, found.slope_high) == (None, None, None)
    assert (found.rest, found.second_half) == (None, None)
    assert found.start == found.first_half == pytest.approx(found.mean)
    assert not found.grows
    assert not found.fades
    assert "nothing known in second ones" in found.cause(None)[1]


def test_longer_answers_have_all_of_them() -> None:
    found = profile_of(answers(8, 16), 0.002)
    assert None not in (found.start, found.rest, found.first_half, found.second_half, found.slope)


def test_flips_of_one_token_have_no_second_half() -> None:
    made = greedy_answers(greedy_evidence([[1.0]] * 4), {"greedy"})[0]
    found = clues_of(made, [(True,)] * 4, ALL, cliff_nats=6.0)
    assert (found.first.rate, found.second.rate, found.second.p_value) == (1.0, None, 1.0)
    assert "nothing known in second ones" in found.cause(tolerated=0.015, different_nats=4.0)[1]


def test_without_a_token_before_the_cliff_nothing_is_known_of_those() -> None:
    rows = [[8.0, 0.0]] * 4
    made = greedy_answers(greedy_evidence(rows), {"greedy"})[0]
    found = clues_of(made, [(True, False)] * 4, ALL, cliff_nats=6.0)
    assert found.clean_rate is None
    assert found.cause(tolerated=0.015, different_nats=5.0)[0] != "engine"


def test_by_text_there_are_no_divergences() -> None:
    made = answers(4, 3)
    assert all(one.listed for one in made)
    text = by_text(made)
    assert not any(one.listed for one in text)
    assert [one.margins for one in text] == [one.margins for one in made]
