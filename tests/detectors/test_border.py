"""border against made flips: which prompts flip is known, so evidence can be enumerated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from monitor.detectors.border import Border
from monitor.results import Evidence, Tolerances, Verdict
from tests.detectors.made import AT
from tests.detectors.made_history import border_evidence


def judge(made: Evidence, **fields: Any) -> Verdict:
    return Border(**fields).run(made, at=AT, rng=np.random.default_rng(0))


def flips(k: int, n: int = 40) -> list[bool]:
    return [at < k for at in range(n)]


@pytest.mark.parametrize("p0", [0.01, 0.03])
def test_false_fails_are_rarer_than_alpha(p0: float) -> None:
    """Oracle: enumeration over the binomial counts at exactly p0."""
    failing = [k for k in range(41) if judge(border_evidence(flips(k)), p0=p0).status == "fail"]
    assert binom.pmf(failing, 40, p0).sum() <= 0.001


def test_degraded_weights_fail() -> None:
    """Oracle: half of the prompts flip, as mined."""
    found = judge(border_evidence(flips(20)))
    assert (found.status, found.cause) == ("fail", "weights")
    assert found.effect == pytest.approx(0.5)
    assert found.details["prompts_to_alpha"] <= 6


def test_no_flip_passes_and_one_flip_is_never_a_fail() -> None:
    """Oracle: the interval's upper end at 0 of 40 lies below the mildest degraded rate."""
    assert judge(border_evidence(flips(0))).status == "pass"
    assert judge(border_evidence(flips(1))).status in {"pass", "inconclusive"}


def test_the_same_answer_again_is_hardly_new_evidence() -> None:
    """Oracle: one prompt that flips in each of ten runs is one flip, not ten."""
    once = judge(border_evidence(flips(2)))
    often = judge(border_evidence(flips(2), answers=10))
    assert often.status != "fail"
    assert once.details["n_prompts"] == often.details["n_prompts"] == 40
    assert often.details["log_e"] < once.details["log_e"] + 2


def test_prompts_are_counted_only_where_each_was_asked_once() -> None:
    """Oracle: with ten answers to each, the evidence after a number of prompts is that of ten times the requests."""
    assert judge(border_evidence(flips(20))).details["prompts_to_alpha"] is not None
    assert judge(border_evidence(flips(20), answers=10)).details["prompts_to_alpha"] is None


def test_a_misread_prompt_is_template() -> None:
    """Oracle: the endpoint counts 47 prompt tokens where golden renders 30."""
    found = judge(border_evidence(flips(20), counted=47))
    assert (found.status, found.cause) == ("fail", "template")
    assert "weights are not judged" in found.reason


def test_text_that_splits_otherwise_is_left_out_and_counted() -> None:
    """Oracle: all answers are of another split."""
    found = judge(border_evidence(flips(20), canonical=False))
    assert (found.status, found.cause) == ("inconclusive", "not_comparable")
    assert found.details["n_noncanonical"] == 40


def test_few_prompts_are_inconclusive() -> None:
    """Oracle: 7 prompts of at least 8."""
    assert judge(border_evidence(flips(7, 7))).status == "inconclusive"


def test_four_bit_is_judged_only_when_calibrated() -> None:
    """Oracle: prompts are mined to catch 4 bit; with a calibrated rate of .6, 20 of 40 flips are no fault."""
    made = border_evidence(flips(20), precision="int4")
    assert judge(made).cause == "not_applicable"
    allowed = Tolerances(weights_sha256="w", by_metric={"border_flips": {"int4": 0.6}})
    assert judge(replace(made, tolerances=allowed)).status in {"pass", "inconclusive"}


@pytest.mark.parametrize("fields", [{"p0": 0.0}, {"degraded": 0.01}, {"alpha": 1.0}, {"min_n": 0}])
def test_refuses_fields_that_make_no_sense(fields: dict[str, Any]) -> None:
    """Oracle: the message names the field."""
    with pytest.raises(ValueError, match=next(iter(fields))):
        Border(**fields)
