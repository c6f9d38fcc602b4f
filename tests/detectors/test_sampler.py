"""The sampler's verdicts on answers drawn by samplers that are written down in `made_drawn`, and on recorded ones."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.sampler import DETECTOR
from monitor.results import Evidence, Tolerances, Verdict
from monitor.stats.samplers import Rule
from tests.detectors.made import AT
from tests.detectors.made_drawn import (
    Served,
    avoiding,
    by,
    drawn_evidence,
    greedy_beside,
    joined,
    noisy,
    recorded,
    recorded_evidence,
)


def judge(made: Evidence, seed: int = 0) -> Verdict:
    return DETECTOR().run(made, at=AT, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("served", "parameter", "value", "band"),
    [
        (by(Rule("temperature", 0.7)), "temperature", 0.7, "sharper sampler"),
        (by(Rule("temperature", 1.3)), "temperature", 1.3, "flatter sampler"),
        (by(Rule("top_p", 0.9)), "top_p", 0.9, "sharper sampler"),
        (by(Rule("top_k", 20)), "top_k", 20, "sharper sampler"),
        (by(Rule("min_p", 0.05)), "min_p", 0.05, "sharper sampler"),
        (avoiding(1.0), "penalty", 1.0, None),
    ],
)
def test_names_the_parameter(served: Served, parameter: str, value: float, band: str | None) -> None:
    verdict = judge(drawn_evidence(served))
    assert (verdict.status, verdict.cause) == ("fail", "sampler")
    assert verdict.details["parameter"] == parameter
    assert verdict.details["value"] == pytest.approx(value, rel=0.1)
    assert band is None or verdict.band == band
    assert parameter.replace("_", "-") in verdict.reason


@pytest.mark.parametrize("value", [0.7, 1.3])
def test_the_effect_is_the_served_temperature_within_its_interval(value: float) -> None:
    verdict = judge(drawn_evidence(by(Rule("temperature", value))))
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < value < verdict.high
    assert verdict.high - verdict.low < 0.25
    assert verdict.threshold == pytest.approx(0.9 if value < 1 else 1.1)


def test_false_alarms_of_plain_sampling() -> None:
    """Under the exact null *fail* has probability at most 0.001 and log_e >= ln 20 at most .05, at any look."""
    verdicts = [judge(drawn_evidence(seed=seed, n=8), seed) for seed in range(40)]
    assert {verdict.status for verdict in verdicts} <= {"pass", "inconclusive"}
    assert np.mean([verdict.e_value or 0.0 for verdict in verdicts]) < 1


def test_plain_sampling_passes_once_there_are_enough_tokens() -> None:
    verdict = judge(drawn_evidence())
    assert (verdict.status, verdict.cause) == ("pass", None)
    assert verdict.mde == pytest.approx(1.1, abs=0.03)


def audits(name: str, n: int, tokens: int, *, seed: int = 0, again: bool = False) -> list[Verdict]:
    """`n` audits of at most `tokens` recorded tokens, each in another order (`again`: drawn with repeats)."""
    views, rng = recorded(name), np.random.default_rng(seed)
    found = []
    for _ in range(n):
        order = rng.integers(len(views), size=len(views)) if again else rng.permutation(len(views))
        chosen = [views[at] for at in order]
        fitting = np.cumsum([len(view.positions) for view in chosen]) <= tokens
        found.append(judge(recorded_evidence([view for view, fits in zip(chosen, fitting, strict=True) if fits])))
    return found


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [("t07", "temperature", 0.7), ("t13", "temperature", 1.3), ("topp09", "top_p", 0.9), ("topk20", "top_k", 20),
     ("rep11", "penalty", 2.0)],
)  # fmt: skip
def test_real_endpoints_with_a_faulty_sampler(name: str, parameter: str, value: float) -> None:
    """llama.cpp was told what its name says: found within 480 tokens, with the right cause, in 19 of 20 audits."""
    found = audits(name, 20, 480)
    blamed = [one for one in found if (one.status, one.cause) == ("fail", "sampler")]
    right = [one for one in blamed if one.details["parameter"] == parameter]
    assert len(right) >= 19
    assert np.median([one.details["value"] for one in right]) == pytest.approx(value, rel=0.1)
    assert max(one.n for one in found) <= 480


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_real_faithful_endpoints_never_alarm(name: str) -> None:
    """llama.cpp with golden's weights in 16 bit: no audit of 1,500 tokens fails, answers drawn with repeats."""
    found = audits(name, 40, 1500, again=True)
    assert "fail" not in {one.status for one in found}
    assert np.median([one.effect for one in found if one.effect]) == pytest.approx(1.0, abs=0.05)


def test_real_4_bit_weights_are_seldom_blamed_on_the_sampler() -> None:
    """Q4_0 of a small model looks like temperature 1.15; greedy answers settle it."""
    found = audits("q4_0", 20, 720)
    assert sum(one.cause == "weights" for one in found) >= 17
    made = recorded_evidence(recorded("q4_0"))
    assert judge(greedy_beside(made, n=200, flips=24)).cause == "weights"


def test_real_garbled_joins_are_found_and_mostly_are_the_engines() -> None:
    """Golden's own answers, each with a tail from another answer to the same prompt: all found at 50 answers.

    Fewer than the 250 of the two-sample design, which cannot see them.
    """
    found = audits("garbled", 20, 50 * 48)
    assert {one.status for one in found} == {"fail"}
    assert sum(one.cause == "engine" for one in found) >= 15
    assert judge(recorded_evidence(recorded("garbled"))).cause == "engine"


def test_few_tokens_leave_it_open_and_say_what_is_not_excluded() -> None:
    verdict = judge(drawn_evidence(n=5))
    assert (verdict.status, verdict.cause) == ("inconclusive", "undecided")
    assert "not excluded" in verdict.reason or "wider" in verdict.reason
    assert verdict.effect is not None


def test_garbled_joins_are_the_engines() -> None:
    """Tokens drawn without regard to golden are almost impossible, once in 48 tokens; all others are plain."""
    verdict = judge(drawn_evidence(joined(20)))
    assert (verdict.status, verdict.cause) == ("fail", "engine")
    assert verdict.details["stray_nats"] > verdict.details["rule_nats"]


def test_other_weights_are_not_blamed_on_the_sampler() -> None:
    """Logit noise far beyond 4 bit (SD 1.5): surprising tokens, which no sampler explains best or greedy excludes."""
    made = drawn_evidence(noisy(1.5))
    assert judge(made).status == "fail"
    verdict = judge(greedy_beside(made, n=200, flips=60))
    assert (verdict.status, verdict.cause) == ("fail", "weights")
    assert "60 of 200 greedy tokens" in verdict.reason


def test_greedy_answers_that_are_goldens_clear_the_weights() -> None:
    """Temperature 1.2 in 200 tokens: too little to tell it from other weights by the sampled tokens alone."""
    made = drawn_evidence(by(Rule("temperature", 1.4)), n=5, seed=4)
    assert judge(made).status == "fail"
    verdict = judge(greedy_beside(made, n=200, flips=1))
    assert (verdict.status, verdict.cause) == ("fail", "sampler")
    assert "200 greedy tokens show golden's weights" in verdict.reason


@pytest.mark.parametrize(("n", "flips", "cleared"), [(100, 6, False), (100, 0, True), (400, 14, False), (400, 8, True)])
def test_weights_are_cleared_only_by_few_flips(n: int, flips: int, cleared: bool) -> None:
    """Oracle: 3% is `flip_rate`, and Wilson's upper ends are 12.5%, 3.7%, 5.8% and 3.9% (3.5% alone is too many)."""
    verdict = judge(greedy_beside(drawn_evidence(by(Rule("temperature", 1.4)), n=5, seed=4), n=n, flips=flips))
    assert verdict.status == "fail"
    assert ("greedy tokens show golden's weights" in verdict.reason) == cleared


def test_near_ties_and_border_prompts_do_not_speak_of_the_weights() -> None:
    """Oracle: 60 tokens that golden likes less by .05 nats are ties; answers of `border` are ties by choice."""
    made = greedy_beside(drawn_evidence(by(Rule("temperature", 1.4)), n=5, seed=4), n=200, flips=60)
    view = made.golden["g1-0"]
    near = tuple(
        replace(one, golden_logprob=one.golden_top1_logprob - 0.05 * (one.golden_rank or 0)) for one in view.positions
    )
    ties = judge(replace(made, golden={**made.golden, "g1-0": replace(view, positions=near)}))
    assert (ties.cause, ties.details["greedy_flips"], ties.details["n_greedy"]) == ("sampler", 0, 200)
    border = judge(replace(made, runs=(made.runs[0], replace(made.runs[1], probe="border"))))
    assert border.details["n_greedy"] == 0


def test_answers_of_other_probes_are_no_samples() -> None:
    made = greedy_beside(drawn_evidence(n=3), n=200, flips=0)
    stalled = tuple(replace(one, outcome="stalled") if one.run_id == "s1" else one for one in made.exchanges)
    assert judge(replace(made, exchanges=stalled)).cause == "no_answers"


def test_a_penalty_is_blamed_although_it_changes_greedy_answers() -> None:
    verdict = judge(greedy_beside(drawn_evidence(avoiding(1.5)), n=200, flips=60))
    assert (verdict.cause, verdict.details["parameter"]) == ("sampler", "penalty")


def test_a_misread_prompt_is_the_templates() -> None:
    verdict = judge(drawn_evidence(by(Rule("temperature", 0.7)), counted=10))
    assert (verdict.status, verdict.cause) == ("fail", "template")


def test_answers_in_other_tokens_than_golden_makes_are_left_out() -> None:
    made = drawn_evidence(n=10)
    views = {key: replace(view, canonical=key != "s1-0") for key, view in made.golden.items()}
    verdict = judge(replace(made, golden=views))
    assert verdict.details["n_noncanonical"] == 1
    assert verdict.n == 9 * 48


def test_the_allowance_follows_calibration_and_declared_precision() -> None:
    made = drawn_evidence(n=10, precision="fp8")
    calibrated = Tolerances(weights_sha256="0", by_metric={"kl_nats": {"full": 0.001, "fp8": 0.004}})
    assert judge(made).details["allowance_nats"] == 0.01
    assert judge(replace(made, tolerances=calibrated)).details["allowance_nats"] == 0.004
    assert judge(drawn_evidence(n=10)).details["allowance_nats"] == 0.002


def test_without_whole_distributions_nothing_is_claimed() -> None:
    """A server or pack knows only its most likely tokens: no log_norms."""
    made = drawn_evidence(n=5)
    bare = {
        key: replace(view, positions=tuple(replace(one, log_norms=(), mass_above=None) for one in view.positions))
        for key, view in made.golden.items()
    }
    verdict = judge(replace(made, golden=bare))
    assert (verdict.status, verdict.cause) == ("inconclusive", "not_comparable")


@pytest.mark.parametrize(
    ("change", "cause"),
    [({"golden": {}}, "no_reference"), ({"exchanges": ()}, "no_answers"), ({"runs": ()}, "not_asked")],
)
def test_too_little_is_inconclusive_with_the_cause(change: dict[str, object], cause: str) -> None:
    verdict = judge(replace(drawn_evidence(n=3), **change))  # type: ignore[arg-type]
    assert (verdict.status, verdict.cause, verdict.effect) == ("inconclusive", cause, None)


def test_too_few_tokens() -> None:
    assert judge(drawn_evidence(n=3)).cause == "too_few"


@pytest.mark.parametrize("change", [{"alpha": 0.0}, {"band": 1.0}, {"min_tokens": 0}, {"full_precision_nats": 0.5}])
def test_impossible_settings_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        DETECTOR(**change)  # type: ignore[arg-type]


def test_positions_with_broken_numbers_are_left_out() -> None:
    made = drawn_evidence(n=6)
    views = {
        key: replace(view, positions=(replace(view.positions[0], log_norms=(float("nan"),) * 28), *view.positions[1:]))
        for key, view in made.golden.items()
    }
    assert judge(replace(made, golden=views)).n == 6 * 47
