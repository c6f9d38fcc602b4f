"""logprob_history against made pools of backends: what each backend answers is known, so every verdict is too."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from monitor.detectors.logprob_history import LogprobHistory
from monitor.results import Evidence, GoldenView, RunRecord, Verdict
from tests.detectors.made import AT
from tests.detectors.made_history import TOKENS, Floats, Pool, evidence_of, golden_first, logprob_runs


def judge(made: Evidence, **fields: Any) -> Verdict:
    return LogprobHistory(**fields).run(made, at=AT, rng=np.random.default_rng(0))


def runs_of(pool: Pool, rng: np.random.Generator, *, n: int = 25, since: int = 99, share: float = 1.0,
            shift: float = 0.5, named: bool = False, n_prompts: int = 32) -> list[RunRecord]:  # fmt: skip
    """`n` runs of a pool; from run `since` a share of the calls goes to a backend that is off by N(0, shift)."""
    moved = rng.normal(0, shift, (n_prompts, TOKENS))

    def answer(run: int, prompt: int) -> tuple[Floats, str | None]:
        values, backend = pool.call(prompt)
        if run >= since and rng.random() < share:
            return np.minimum(values + moved[prompt], -1e-6), "fp-off" if named else None
        return values, f"fp-{backend}" if named else None

    return logprob_runs(n, answer, n_prompts=n_prompts)


def _unnamed(record: RunRecord) -> RunRecord:
    return replace(record, exchanges=tuple(replace(one, fingerprint=None) for one in record.exchanges))


def test_the_smallest_distance_that_could_have_been_seen_reaches_the_threshold() -> None:
    """Oracle: the largest of 12 stakes, on one of 8 starts; bets on means have half of the weight."""
    pool = Pool(np.random.default_rng(0))
    found = judge(evidence_of(runs_of(pool, np.random.default_rng(1))))
    assert found.mde is not None
    assert found.threshold is not None
    n_starts = found.details["runs_compared"]
    capital = found.n * np.log1p(0.95 * (found.mde / found.threshold - 1)) - np.log(2 * 12 * n_starts)
    assert capital == pytest.approx(found.details["log_e_to_fail"])


@pytest.mark.parametrize("stickiness", [0.0, 0.8, 0.95])
def test_sticky_pools_of_faithful_backends_raise_no_alarm(stickiness: float) -> None:
    """B11: 3 backends, offset .02. Oracle: binomial bound of false alarms at alpha = .01, 24 earlier runs."""
    worlds, alarms = 30, 0
    for seed in range(worlds):
        rng = np.random.default_rng(seed)
        found = judge(evidence_of(runs_of(Pool(rng, stickiness=stickiness, n_prompts=12), rng, n_prompts=12)))
        alarms += found.status in {"fail", "suspect"}
    assert alarms <= binom.ppf(0.975, worlds, 0.01)


def test_sixty_looks_at_one_history_raise_no_alarm() -> None:
    """B12. Oracle: overall level .001 of 60 looks means no alarm in 3 worlds (probability .997)."""
    for seed in range(3):
        rng = np.random.default_rng(100 + seed)
        runs = runs_of(Pool(rng, n_prompts=8), rng, n=84, n_prompts=8)
        for look in range(24, 84, 3):
            assert judge(evidence_of([*runs[:24], runs[look]])).status in {"pass", "inconclusive"}


def test_all_backends_moved_is_weights() -> None:
    """Oracle: every call from the last run on comes from the moved backend."""
    rng = np.random.default_rng(1)
    found = judge(evidence_of(runs_of(Pool(rng), rng, since=24)))
    assert (found.status, found.cause) == ("fail", "weights")
    assert found.low is not None
    assert found.threshold is not None
    assert found.low > found.threshold


@pytest.mark.parametrize("named", [False, True])
def test_one_of_two_backends_off_is_routing(named: bool) -> None:
    """Oracle: a share of 30% of the calls of the last 4 runs, drawn with a known seed; the interval holds its count."""
    rng = np.random.default_rng(2)
    pool = Pool(rng, backends=1)
    records = runs_of(pool, rng, since=21, share=0.3, shift=1.0, named=True)
    moved = np.mean([one.fingerprint == "fp-off" for record in records[21:] for one in record.exchanges])
    found = judge(evidence_of(records if named else [_unnamed(record) for record in records]))
    assert (found.status, found.cause) == ("fail", "routing")
    assert "two backends, one of them off" in found.reason
    off = [one for one in found.details["backends"] if one["off"]]
    assert [one["name"] for one in off] == ["fp-off" if named else "off"]
    assert off[0]["share_low"] < moved < off[0]["share_high"]


def test_says_which_backend_is_nearer_to_golden() -> None:
    """Oracle: golden is the pool's own centre, from which the new backend differs."""
    rng = np.random.default_rng(3)
    pool = Pool(rng, backends=1)
    made = evidence_of(runs_of(pool, rng, since=21, share=0.4, shift=1.0))
    views: dict[str, GoldenView] = {}
    for one in (*made.exchanges, *(each for record in made.history for each in record.exchanges)):
        prompt = int(one.exchange_id.rsplit("-", 1)[1])
        views[one.exchange_id] = golden_first(one, pool.centres[0, prompt])
    found = judge(replace(made, golden=views))
    assert "the one that as before is nearer to golden" in found.reason


def test_a_prompt_that_is_counted_otherwise_is_template() -> None:
    """Oracle: prompt counts change together with the logprobs."""
    rng = np.random.default_rng(4)
    base = Pool(rng, backends=1)
    moved = rng.normal(0, 1, (32, TOKENS))
    made = logprob_runs(
        25, lambda run, prompt: (np.minimum(base.call(prompt)[0] + (run == 24) * moved[prompt], -1e-6), None),
        counted=lambda run: 30 if run < 24 else 47,
    )  # fmt: skip
    found = judge(evidence_of(made))
    assert (found.status, found.cause) == ("fail", "template")
    assert "weights are not judged" in found.reason


def test_a_change_since_several_runs_is_found_while_it_is_in_the_window() -> None:
    """Oracle: the change is older than the newest run, and the runs before the window are all of the old state."""
    rng = np.random.default_rng(5)
    found = judge(evidence_of(runs_of(Pool(rng, backends=1), rng, n=30, since=24, shift=0.3)))
    assert (found.status, found.cause) == ("fail", "weights")
    assert found.details["since"] == evidence_of(runs_of(Pool(rng), rng, n=25)).runs[0].started_at.isoformat()


@pytest.mark.parametrize(("n_runs", "cause"), [(1, "no_history"), (6, "no_history")])
def test_too_little_history_is_inconclusive(n_runs: int, cause: str) -> None:
    """Oracle: fewer than `min_history` runs are left to compare with."""
    rng = np.random.default_rng(6)
    found = judge(evidence_of(runs_of(Pool(rng), rng, n=n_runs)))
    assert (found.status, found.cause) == ("inconclusive", cause)


def test_runs_with_other_parameters_are_no_history() -> None:
    """Oracle: all earlier runs asked something else."""
    rng = np.random.default_rng(7)
    made = evidence_of(runs_of(Pool(rng), rng))
    others = tuple(replace(one, run=replace(one.run, params_sha256="other")) for one in made.history)
    assert judge(replace(made, history=others)).cause == "no_history"


def test_without_logprobs_it_says_so() -> None:
    """Oracle: no exchange has logprobs."""
    rng = np.random.default_rng(8)
    made = evidence_of(runs_of(Pool(rng), rng, n=3))
    bare = tuple(replace(one, choices=(replace(one.choice, logprobs=None),)) for one in made.exchanges)
    assert judge(replace(made, exchanges=bare, history=())).cause == "no_logprobs"


def test_identical_answers_have_no_noise_and_still_a_tolerance() -> None:
    """Oracle: an endpoint without any noise that repeats itself exactly passes at distance 0."""
    rng = np.random.default_rng(9)
    found = judge(evidence_of(runs_of(Pool(rng, backends=1, noise=0.0), rng, n=20)))
    assert found.status == "pass"
    assert found.effect == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("fields", [{"tolerance_nats": 0.0}, {"stray": 1.0}, {"min_history": 1}, {"pages": 0.0}])
def test_refuses_fields_that_make_no_sense(fields: dict[str, Any]) -> None:
    """Oracle: the message names the field."""
    with pytest.raises(ValueError, match=next(iter(fields))):
        LogprobHistory(**fields)


def test_eight_bit_may_differ_more() -> None:
    """Oracle: a shift of .125 nats per token (mean |N(0, .157)|) is beyond .05 and within .15."""
    rng = np.random.default_rng(10)
    made = evidence_of(runs_of(Pool(rng, backends=1), rng, since=21, shift=0.157))
    assert judge(made).status == "fail"
    declared = replace(made, endpoint=replace(made.endpoint, precision="fp8"))
    assert judge(declared).status in {"pass", "inconclusive"}
