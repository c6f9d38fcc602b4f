"""Error rates and effects of the detector `shape`. Oracles: simulated looks at endpoints that did not change; theory.

Each limit is the stated rate and three standard errors of the simulated looks.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from monitor.detectors.shape import Shape
from monitor.evidence import Finding
from monitor.results import Evidence, RunRecord, Verdict
from monitor.shape import ShapeEvent
from monitor.shape_compare import LENGTH, Shift, compare_shapes
from monitor.stats.rates import wilson
from tests.detectors.made import AT
from tests.shape.made import CAP, N, answers, evidence_of

NO_CAP = 10**6


def event(tokens: float, *, prompt: str | None = None, cap: float = NO_CAP, **signs: Any) -> ShapeEvent:
    cut = tokens >= cap
    return ShapeEvent(outcome="ok", prompt=prompt, tokens=min(tokens, cap), **{"cut": cut, **signs})


def lengths(rng: np.random.Generator, n: int, mean: float = 40, **more: Any) -> list[ShapeEvent]:
    return [event(float(one), **more) for one in rng.geometric(1 / mean, n)]


def shift_of(sign: str, now: list[ShapeEvent], before: list[ShapeEvent]) -> Shift:
    return next(one for one in compare_shapes(now, before) if one.sign == sign)


def limit(alpha: float, n: int) -> float:
    return float(alpha + 3 * (alpha * (1 - alpha) / n) ** 0.5)


@pytest.mark.parametrize(("n", "n_before", "cap"), [(5, 40, NO_CAP), (15, 120, NO_CAP), (15, 120, 48)])
def test_the_interval_of_a_length_holds_zero_where_nothing_changed(n: int, n_before: int, cap: float) -> None:
    """300 null looks: it leaves 0 out in 5% of them at most. Where two curves part most it would in half of them."""
    rng = np.random.default_rng(n + n_before)
    looks = [shift_of(LENGTH, lengths(rng, n, cap=cap), lengths(rng, n_before, cap=cap)) for _ in range(300)]
    assert np.mean([one.low > 0 or one.high < 0 for one in looks]) <= limit(0.05, 300)
    assert all(one.low <= one.effect <= one.high for one in looks)


def test_lengths_by_prompt_hold_zero_too() -> None:
    """20 prompts of very different lengths, one answer now and 8 before to each."""
    rng = np.random.default_rng(3)
    means = rng.uniform(5, 200, 20)

    def answered(n: int) -> list[ShapeEvent]:
        return [one for at, mean in enumerate(means) for one in lengths(rng, n, mean, prompt=f"p{at}")]

    looks = [shift_of(LENGTH, answered(1), answered(8)) for _ in range(200)]
    assert np.mean([one.low > 0 or one.high < 0 for one in looks]) <= limit(0.05, 200)
    assert np.mean([one.p_value <= 0.05 for one in looks]) <= limit(0.05, 200)


def test_the_effect_of_a_length_is_that_of_theory() -> None:
    """Exponential lengths of mean 80 after 40: at the median of before, 40 ln 2, it is exp(-ln 2 / 2) - 1/2 = 0.207.

    At the upper quartile, 40 ln 4, it is exp(-ln 4 / 2) - 1/4 = 0.25, and that is the largest.
    """
    rng = np.random.default_rng(4)
    now = [event(one) for one in rng.exponential(80, 800)]
    before = [event(one) for one in rng.exponential(40, 800)]
    found = shift_of(LENGTH, now, before)
    assert found.at_tokens == pytest.approx(40 * np.log(4), rel=0.1)
    assert found.effect == pytest.approx(0.25, abs=0.07)
    assert found.low < 0.25 < found.high


def test_a_cap_alone_is_no_other_length() -> None:
    """All of now is cut at 30, where before nothing is: beyond 30 nobody knows, and nothing is said."""
    rng = np.random.default_rng(4)
    before = lengths(rng, 400)
    found = shift_of(LENGTH, [event(500.0, cap=30) for _ in range(40)], before)
    assert found.at_tokens is not None
    assert found.at_tokens <= 30
    same = shift_of(LENGTH, lengths(rng, 400, cap=30), before)
    assert same.low < 0 < same.high
    assert same.p_value > 0.01


def flagged(k: int, n: int, prompt: str, sign: str = "looped") -> list[ShapeEvent]:
    return [event(8, prompt=prompt, **{sign: at < k}) for at in range(n)]


def test_unequal_numbers_per_prompt_are_no_difference() -> None:
    """The easy prompt never loops, the hard one in half of its answers, on both sides; now the hard one came oftener.

    Over all answers 45% would be beside 9%; prompt by prompt there is none. One stratum is Newcombe's interval.
    """
    now = flagged(0, 10, "easy") + flagged(45, 90, "hard")
    before = flagged(0, 90, "easy") + flagged(5, 10, "hard")
    found = shift_of("looped", now, before)
    assert found.effect == pytest.approx(0.0, abs=1e-12)
    assert found.low < 0 < found.high
    whole = shift_of("looped", flagged(45, 90, "hard"), flagged(5, 10, "hard"))
    own, other = wilson(45, 90), wilson(5, 10)
    assert whole.low == pytest.approx(-np.hypot(0.5 - (own.low or 0), (other.high or 0) - 0.5))


def test_an_opposite_mix_does_not_hide_a_difference() -> None:
    """Loops rise by 20 points on each prompt while the easy one comes more often: over all answers they would fall."""
    now = flagged(18, 90, "easy") + flagged(7, 10, "hard")
    before = flagged(0, 10, "easy") + flagged(45, 90, "hard")
    assert shift_of("looped", now, before).effect == pytest.approx(0.2, abs=1e-9)


def test_rates_over_prompts_cover() -> None:
    """200 looks, prompts with rates from 0 to 1, other numbers on each side: the interval holds 0 in 95% at least."""
    rng = np.random.default_rng(6)
    out = []
    for _ in range(200):
        now, before = [], []
        for at, rate in enumerate(rng.uniform(0, 1, 12)):
            n, m = int(rng.integers(1, 9)), int(rng.integers(1, 30))
            now += flagged(int(rng.binomial(n, rate)), n, f"p{at}")
            before += flagged(int(rng.binomial(m, rate)), m, f"p{at}")
        found = shift_of("looped", now, before)
        out.append(found.low > 0 or found.high < 0)
    assert np.mean(out) <= limit(0.05, 200)


def looked(now: RunRecord, history: list[RunRecord], samples: dict[str, Any] | None = None, **fields: Any) -> Verdict:
    made: Evidence = evidence_of(now, history)
    return Shape(**fields).run(replace(made, samples=samples or {}), at=AT, rng=np.random.default_rng(0))


def judged(now: list[ShapeEvent], before: list[ShapeEvent], **fields: float) -> Finding:
    return Shape(**fields)._finding([("history", one) for one in compare_shapes(now, before)], 1)  # type: ignore[arg-type]


def test_a_shift_that_does_not_matter_hides_none_that_does() -> None:
    """Cut answers go from 30% to 40%, p 2e-11; loops from none to 4%, p 4e-25, which is less than matters: it fails."""
    n = 2000
    shares = {"now": (0.04, 0.4), "before": (0.0, 0.3)}
    now, before = (
        [event(8, looped=at < loops * n, cut=at >= n - cut * n) for at in range(n)] for loops, cut in shares.values()
    )
    one = judged(now, before)
    told = one.details or {}
    assert told["looped_p"] < told["cut_p"] < 1e-7
    assert abs(told["looped_shift"]) < 0.05
    assert (one.status, one.cause, told["sign"]) == ("fail", "engine", "cut")


def drawn(rng: np.random.Generator, n: int) -> tuple[tuple[int, ...], ...]:
    sizes = [min(int(rng.geometric(1 / 40)), CAP) for _ in range(n)]
    return tuple(tuple(int(one) for one in rng.integers(0, 1000, size)) for size in sizes)


def test_what_golden_does_not_tell_is_held_against_history() -> None:
    """Golden's answers are token ids: no empties, no scripts. Answers that are empty now fail beside earlier ones."""
    rng = np.random.default_rng(7)
    samples = {f"p{at}": drawn(rng, 8) for at in range(N)}
    history = [answers(index, rng) for index in range(12)]
    empty = answers(12, rng, content=lambda _: "")
    one = looked(empty, history, samples)
    assert (one.status, one.details["sign"], one.details["against"]) == ("fail", "empty", "history")
    assert one.details["not_compared"] == []
    alone = looked(answers(12, rng), [], samples)
    assert alone.status == "pass"
    assert alone.details["not_compared"] == ["mixed", "empty", "only_reasoning", "retried", "called"]
    assert "nothing to compare with: mixed, empty" in alone.reason
    assert alone.details["n_before"] == 0


def test_where_no_share_would_do_there_is_no_pass() -> None:
    """5 answers beside 40: even all five have p = C(45, 5) ** -1 = 8e-7, times 8 signs 6e-6: above an alpha of 1e-6.

    Nothing could have failed, so nothing passes. What is suspect is still told.
    """
    rng = np.random.default_rng(8)
    signs = dict.fromkeys(("looped", "mixed", "empty", "only_reasoning", "retried", "called"), False)
    history = lengths(rng, 40, **signs)
    one = judged(lengths(rng, 5, **signs), history, alpha=1e-7)
    assert (one.status, one.cause, one.mde) == ("inconclusive", "no_history", None)  # more of it would do
    looped = judged(lengths(rng, 5, **{**signs, "looped": True}), history, alpha=1e-7)
    assert (looped.status, (looped.details or {})["sign"]) == ("suspect", "looped")
    assert looped.p_value == pytest.approx(8 / math.comb(45, 5), rel=1e-6)


def test_false_alarms_of_the_whole_detector() -> None:
    """400 null looks at 5 answers beside 40, long-tailed lengths, at alpha 0.005."""
    rng = np.random.default_rng(9)
    alarms = sum(judged(lengths(rng, 5), lengths(rng, 40), alpha=0.005).status == "fail" for _ in range(400))
    assert alarms / 400 <= limit(0.005, 400)
