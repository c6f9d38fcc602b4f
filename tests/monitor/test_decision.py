"""The joint verdict: evidence over runs, when it pages, and how often it would do so for nothing."""

import math
from typing import Any

import numpy as np
import pytest

from jobs.settings import catalogues
from monitor.audit import joint_log_e
from monitor.config import load
from monitor.decision import JOINED, Before, decide, page_threshold
from monitor.evidence import Card, Finding, verdict
from monitor.results import Evidence
from monitor.stats.change import fleet_threshold
from tests.detectors.made import AT, endpoint
from tests.monitor.test_audit import said

PAGE = math.log(10_000)


def joint(
    log_e: float | None, *, state: float | None = None, others: dict[str, float] | None = None, **more: Any
) -> Finding:
    found = [said("logprob_fidelity", more.get("status", "inconclusive"), cause=more.get("cause"), log_e=log_e)]
    return decide(found, found, Before(state=state, others=others or {}), threshold=PAGE, alpha=0.01)


def told(finding: Finding) -> dict[str, Any]:
    return dict(finding.details or {})


def state_of(finding: Finding) -> Any:
    return told(finding)["state"]


def test_evidence_of_runs_adds_up_until_it_pages() -> None:
    """Oracle: M = (1 + M) e by hand; three runs of 3.5 nats are beyond ln 10,000 = 9.2, two are not."""
    first = joint(3.5)
    assert first.effect == pytest.approx(3.5)
    second = joint(3.5, state=state_of(first))
    assert second.effect == pytest.approx(math.log((1 + math.exp(3.5)) * math.exp(3.5)))
    assert second.status == "suspect"
    third = joint(3.5, state=state_of(second), cause="weights", status="suspect")
    assert (third.status, third.cause) == ("fail", "weights")


def test_a_pass_starts_afresh_and_silence_keeps_the_state() -> None:
    passed = joint(-1.0, state=5.0, status="pass")
    assert (passed.status, passed.cause, state_of(passed)) == ("pass", None, None)
    silent = joint(None, state=5.0)
    assert (silent.effect, state_of(silent), told(silent)["fleet_rejected"]) == (5.0, 5.0, None)
    assert joint(None).status == "inconclusive"


def test_evidence_without_a_detector_that_names_it_is_called_unexplained() -> None:
    assert joint(20.0).cause == "unexplained"


def test_the_run_alone_goes_into_the_detector_and_all_that_is_known_names_the_cause() -> None:
    alone = [said("greedy_flips", "suspect", cause="weights", log_e=4.0)]
    seen = [said("greedy_flips", "fail", cause="kv_cache", log_e=40.0)]
    found = decide(alone, seen, Before(), threshold=PAGE, alpha=0.01)
    assert found.effect == pytest.approx(4.0)
    assert found.cause == "kv_cache"


def test_e_bh_over_the_fleet() -> None:
    """Oracle: 100 endpoints at alpha 0.01 need e >= 100 / 0.01 = e^9.2 for one, half of that where two are as high."""
    fleet = {f"e{at}": 0.0 for at in range(99)}
    assert told(joint(9.3, others=fleet))["fleet_rejected"] is True
    assert told(joint(9.0, others=fleet))["fleet_rejected"] is False
    assert told(joint(9.0, others={**fleet, "e0": 9.0}))["fleet_rejected"] is True
    assert told(joint(9.0, others=fleet))["fleet_n"] == 100


YAML = """
endpoints:
  - {name: a/m, base_url: "http://127.0.0.1:1/v1", model: m}
  - {name: b/m, base_url: "http://127.0.0.1:1/v1", model: m}
decision: {false_pages_per_month: 0.5}
probes:
  - {kind: logprobs, every: 1h}
  - {kind: speed, every: 1m}
"""


def test_the_threshold_counts_the_runs_of_the_whole_fleet() -> None:
    """Oracle: 2 endpoints x 720 hours / 0.5 pages; `speed` feeds nothing that is joined."""
    config = load(YAML, {}, catalogues())
    assert page_threshold(config, frozenset({"logprobs"})) == pytest.approx(math.log(2 * 720 / 0.5))


def test_a_faithful_fleet_is_paged_for_as_rarely_as_configured() -> None:
    """Type I: 40 endpoints, 360 runs each, e-values at the edge of the null (log-normal, mean 1), one page accepted."""
    rng, pages, months = np.random.default_rng(5), 0, 5
    threshold = fleet_threshold(40, 360, false_alarms=1.0)
    for _ in range(months * 40):
        state: float | None = None
        for log_e in rng.normal(-0.5, 1.0, 360):
            found = decide([said("greedy_flips", "inconclusive", cause="undecided", log_e=float(log_e))], [],
                           Before(state=state), threshold=threshold, alpha=0.01)  # fmt: skip
            paged = found.status == "fail"
            pages += paged
            state = None if paged else state_of(found)
    assert pages / months <= 1 + 3 * (1 / months) ** 0.5


def test_what_could_not_run_holds_no_pass_up_and_is_none_itself() -> None:
    """An endpoint without logprobs passes by its text; one where nothing could run does not pass."""
    blind = said("logprob_fidelity", "inconclusive", cause="no_logprobs")
    passed = said("greedy_flips", "pass", log_e=-2.0)
    assert decide([passed], [passed, blind], Before(), threshold=PAGE, alpha=0.01).status == "pass"
    assert decide([], [blind], Before(), threshold=PAGE, alpha=0.01).status == "inconclusive"
    open_still = said("sampler", "inconclusive", cause="undecided", log_e=0.0)
    assert decide([passed], [passed, open_still], Before(), threshold=PAGE, alpha=0.01).status == "inconclusive"


def test_an_e_value_too_small_for_a_float_still_lowers_the_mean() -> None:
    """Oracle: the mean of e^8 and about 0 is e^8 / 2."""
    card = Card(detector="greedy_flips", version=1, statistic="s", unit="u")
    tiny = verdict(card, Finding(status="pass", cause=None, reason="", log_e=-5000.0),
                   Evidence(endpoint=endpoint(), runs=(), exchanges=()), AT)  # fmt: skip
    assert joint_log_e([said("sampler", "fail", log_e=8.0), tiny]) == pytest.approx(8.0 - math.log(2))
    assert joint_log_e([said("sampler", "inconclusive")]) is None


def test_what_is_joined_exists_and_what_has_no_e_value_speaks_for_itself() -> None:
    kinds: Any = catalogues().detectors
    assert set(kinds) >= JOINED
    assert "two_sample" not in JOINED
