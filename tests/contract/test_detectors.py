"""Every detector in the catalogue on evidence of every quality: never raises, never passes what it cannot see."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

import monitor.detectors
from monitor.catalogue import scan
from monitor.codec import decode, encode
from monitor.results import Evidence, Verdict
from monitor.types import ANSWERED, Outcome
from tests.detectors.made import AT, evidence, exchange
from tests.detectors.made_drawn import drawn_evidence, faithful_answers
from tests.detectors.made_greedy import faithful_context, faithful_greedy
from tests.detectors.made_history import faithful_border, steady_logprobs, steady_speed
from tests.detectors.made_identify import identify_evidence
from tests.faults.honest import honest_evidence
from tests.shape.made import steady
from tests.suites.made import suite_evidence
from tests.tools.made_evidence import tools_evidence

DETECTORS: dict[str, Any] = scan(monitor.detectors, "DETECTOR")
FED: dict[str, Callable[[], Evidence]] = {
    "sampler": drawn_evidence, "two_sample": faithful_answers,
    "border": faithful_border, "logprob_history": steady_logprobs, "speed_shift": steady_speed,
    "greedy_flips": faithful_greedy, "logprob_profile": faithful_greedy, "long_context": faithful_context,
    "identify": identify_evidence, "tool_calls": tools_evidence, "shape": steady,
    "parameters": honest_evidence, "suite": suite_evidence,
}  # fmt: skip
"""Faithful evidence for detectors that need other probes than `logprobs`."""

FAULTS = [outcome for outcome in get_args(Outcome) if outcome not in ANSWERED]


def judge(kind: str, made: Evidence) -> Verdict:
    verdict: Verdict = DETECTORS[kind]().run(made, at=AT, rng=np.random.default_rng(0))
    assert verdict.detector == kind
    assert verdict.reason
    assert verdict.statistic in {metric.name for metric in DETECTORS[kind].metrics}
    assert (verdict.effect is None) == (verdict.low is None) == (verdict.high is None)
    assert (verdict.status == "pass") <= (verdict.cause is None)
    assert (verdict.status in {"fail", "suspect"}) <= (verdict.cause is not None)
    assert decode(Verdict, encode(verdict)) == verdict
    return verdict


@pytest.mark.parametrize("kind", DETECTORS)
def test_faithful_passes(kind: str) -> None:
    assert judge(kind, FED.get(kind, evidence)()).status == "pass"


@pytest.mark.parametrize("kind", DETECTORS)
def test_nothing_is_inconclusive(kind: str) -> None:
    empty = replace(evidence(), exchanges=(), runs=(), golden={})
    assert judge(kind, empty).status == "inconclusive"


@pytest.mark.parametrize("outcome", FAULTS)
@pytest.mark.parametrize("kind", DETECTORS)
def test_no_fault_is_ever_a_pass(kind: str, outcome: Outcome) -> None:
    made = replace(evidence(), exchanges=tuple(exchange(index, outcome=outcome) for index in range(32)), golden={})
    assert judge(kind, made).status in {"fail", "inconclusive"}


@pytest.mark.parametrize("kind", DETECTORS)
def test_same_evidence_same_verdict(kind: str) -> None:
    assert judge(kind, evidence(noise=0.2)) == judge(kind, evidence(noise=0.2))


@pytest.mark.parametrize("kind", DETECTORS)
def test_docstring_says_what_it_needs_and_what_misleads_it(kind: str) -> None:
    text = importlib.import_module(DETECTORS[kind].__module__).__doc__ or ""
    for heading in ("Needs:", "What can mislead it:", "Source:"):
        assert heading in text
