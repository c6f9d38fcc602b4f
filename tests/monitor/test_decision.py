"""The joint verdict: evidence over runs, when it pages, and how often it would do so for nothing."""

import math
from typing import Any

import numpy as np
import pytest

from jobs.settings import catalogues
from monitor.config import load
from monitor.decision import JOINED, Past, decide, page_threshold
from monitor.evidence import Finding
from tests.monitor.test_audit import said

PAGE = math.log(10_000)


def joint(
    log_e: float | None, *, state: float | None = None, others: dict[str, float] | None = None, **more: Any
) -> Finding:
    found = [said("logprob_fidelity", more.get("status", "inconclusive"), cause=more.get("cause"), log_e=log_e)]
    return decide(found, found, Past(state=state, others=others or {}), threshold=PAGE, alpha=0.01)


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
    found = decide(alone, seen, Past(), threshold=PAGE, alpha=0.01)
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
    """Type I: 200 endpoints x 720 hourly looks with e-values at the edge of the null (mean 1): 1 page a month."""
    rng, pages, months = np.random.default_rng(5), 0, 20
    threshold = math.log(200 * 720)
    for _ in range(months):
        log_m = np.full(200, -np.inf)
        for _ in range(720):
            log_m = np.logaddexp(0, log_m) + rng.normal(-0.5, 1.0, 200)  # log-normal with mean 1
            beyond = log_m >= threshold
            pages += int(beyond.sum())
            log_m[beyond] = -np.inf
    assert pages / months <= 1.3


def test_what_is_joined_exists_and_opens_no_incident_of_its_own() -> None:
    kinds: Any = catalogues().detectors
    assert set(kinds) >= JOINED
