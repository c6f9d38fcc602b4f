"""False alarms of `tool_calls`. Oracle: simulated endpoints that are golden; limits: alpha and 3 standard errors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from monitor.detectors.tool_calls import ToolCalls, _either
from monitor.ports import Floats
from monitor.tools.case import FORMS, Case
from monitor.tools.draws import ToolDraws
from monitor.tools.golden_side import Against, against_golden
from monitor.tools.graded import Graded, grade
from monitor.tools.layers import Symptom
from monitor.wire.dispatch import decode
from tests.tools.made import captured
from tests.tools.made_evidence import bytes_of, known_cases, right_calls, tools_evidence

CASES = [one for one in known_cases() if one.calls and one.tool_choice is None][:20]
LOOKS = 600
TOLERATED = 0.3


def answers(case: Case) -> dict[tuple[str, bool], Graded]:
    """What it says in each form, with the calls and without them."""
    found: dict[tuple[str, bool], Graded] = {}
    for form in FORMS:
        for calls in (False, True):
            body = bytes_of(case, form, right_calls(case) if calls else ())
            one = decode(captured(body, case, stream=form == "stream"))
            assert one.request is not None
            made = grade(replace(one, request=replace(one.request, seed=7)))
            assert made is not None
            found[form, calls] = made
    return found


SAID = {case.case_id: answers(case) for case in CASES}


def twins(p: Floats, rng: np.random.Generator) -> list[Graded]:
    """Both forms of each case with one seed, which the endpoint honours: one throw of the coin, told twice."""
    thrown = {case.case_id: bool(rng.random() < p[at]) for at, case in enumerate(CASES)}
    return [SAID[name][form, calls] for name, calls in thrown.items() for form in FORMS]


def golden_draws(p: Floats, rng: np.random.Generator) -> dict[str, ToolDraws]:
    thrown = {case.case_id: tuple(int(one) for one in rng.random(8) < p[at]) for at, case in enumerate(CASES)}
    return {name: ToolDraws(calls=calls, sound=tuple(map(bool, calls))) for name, calls in thrown.items()}


def limit(alpha: float, n: int = LOOKS) -> float:
    return float(alpha + 3 * (alpha * (1 - alpha) / n) ** 0.5)


@pytest.fixture(scope="module")
def p_values() -> Floats:
    rng = np.random.default_rng(21)
    found = []
    for _ in range(LOOKS):
        p = rng.beta(1, 1, len(CASES))
        made = against_golden(twins(p, rng), golden_draws(p, rng), rng=rng, n_dealt=999).agreement
        assert made is not None
        assert made.n == len(CASES), "one answer to each case and seed"
        found.append(made.p_value)
    return np.array(found)


@pytest.mark.parametrize("alpha", [0.002, 0.01, 0.05])
def test_an_endpoint_that_honours_seeds_is_not_accused(alpha: float, p_values: Floats) -> None:
    """Counted as two answers each, twins have p <= 0.01 in a tenth of the looks."""
    assert (p_values <= alpha).mean() <= limit(alpha)


def test_two_tests_of_one_layer_share_its_alpha(p_values: Floats) -> None:
    """A layer is tested for faults beyond the tolerated rate and against golden; both are null here, at that rate.

    The p-value of the layer is at most 0.05 in 5% of 6,000 looks. The smaller of the two would be in more.
    """
    rng, of_faults = np.random.default_rng(22), [p_of_faults(k) for k in range(len(CASES) + 1)]
    k, beside = rng.binomial(len(CASES), TOLERATED, 6000), rng.choice(p_values, 6000)
    both = [(of_faults[faulty], float(p)) for faulty, p in zip(k, beside, strict=True)]
    assert np.mean([_either(*pair) <= 0.05 for pair in both]) <= limit(0.05, 6000)
    assert np.mean([min(pair) <= 0.05 for pair in both]) > limit(0.05, 6000)


def p_of_faults(k: int) -> float:
    """P-value of the layer when `k` cases break a rule of decisions and golden has not answered."""
    return float(judged(k, Against())["p_decision"])


def judged(k: int, golden: Against) -> Mapping[str, Any]:
    rule = Symptom(layer="decision", name="undeclared_tool")
    told = [SAID[case.case_id]["stream", True] for case in CASES]
    made = [replace(one, symptoms=(rule,) * int(at < k)) for at, one in enumerate(told)]
    return ToolCalls(tolerated=TOLERATED)._finding(made, tools_evidence(cases=CASES[:1]), golden).details or {}


def test_the_layer_of_decisions_has_the_p_value_of_both_tests() -> None:
    rng = np.random.default_rng(23)
    golden = against_golden(twins(np.full(len(CASES), 0.1), rng), golden_draws(np.ones(len(CASES)), rng), rng=rng)
    assert golden.agreement is not None
    p_value = golden.agreement.p_value
    assert p_value < 0.01
    assert judged(3, golden)["p_decision"] == 2 * p_value
    assert judged(len(CASES), Against())["p_decision"] < 0.01
