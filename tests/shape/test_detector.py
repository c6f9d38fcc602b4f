"""The detector `shape`. Oracles: what the runs were made to show, and the error rate of simulated looks."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.shape import Shape
from monitor.results import Evidence, Verdict
from monitor.shape import DROPPED, event_of, sign_flags, text_signs
from monitor.types import Choice
from tests.detectors.made import AT
from tests.shape.made import CAP, LOOP, TEXT, N, answers, evidence_of, steady


def judge(evidence: Evidence, **fields: float) -> Verdict:
    return Shape(**fields).run(evidence, at=AT, rng=np.random.default_rng(0))  # type: ignore[arg-type]


def changed(**now: object) -> Verdict:
    rng = np.random.default_rng(1)
    history = [answers(index, rng) for index in range(12)]
    return judge(evidence_of(answers(12, rng, **now), history))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sign", "cause", "now"),
    [
        ("looped", "content", {"content": lambda _: LOOP}),
        ("mixed", "content", {"content": lambda _: TEXT + " \u4e00\u516c\u65a4\u5f88\u91cd"}),
        ("empty", "engine", {"content": lambda _: ""}),
        ("only_reasoning", "parser", {"content": lambda _: "", "reasoning": "hm", "mean": 8}),
        ("length", "length", {"mean": 3}),
        ("cut", "engine", {"mean": 4000}),
    ],
)
def test_what_changed_is_named(sign: str, cause: str, now: dict[str, object]) -> None:
    one = changed(**now)
    assert (one.status, one.cause) == ("fail", cause)
    assert one.details["sign"] == sign
    assert one.low is not None
    assert one.high is not None
    assert one.effect is not None
    assert one.low <= one.effect <= one.high
    assert abs(one.effect) > 0.4
    assert (one.n, one.details["n_before"], one.details["against"]) == (N, 12 * N, "history")


def test_steady_passes() -> None:
    one = judge(steady())
    assert (one.status, one.cause) == ("pass", None)
    assert 0 < (one.mde or 0) < 1


@pytest.mark.parametrize("prefix", ["p", "other-"])
def test_error_rate_of_many_looks(prefix: str) -> None:
    """100 looks at an endpoint that loops on a fifth of its answers, at alpha 0.005: at most 0.005 + 3 s.e."""

    def sometimes(rng: np.random.Generator) -> str:
        return LOOP if rng.random() < 0.2 else TEXT

    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        history = [answers(index, rng, content=sometimes) for index in range(4)]
        now = answers(9, rng, content=sometimes, prefix=prefix)
        alarms += judge(evidence_of(now, history), alpha=0.005).status == "fail"
    assert alarms / 100 <= 0.005 + 3 * (0.005 * 0.995 / 100) ** 0.5


def test_prompts_that_always_looped_are_no_news_and_new_ones_are() -> None:
    rng = np.random.default_rng(4)

    def mostly(share: float) -> Callable[[np.random.Generator], str]:
        return lambda draw: LOOP if draw.random() < share else TEXT

    history = [answers(index, rng, content=mostly(0.5)) for index in range(12)]
    assert judge(evidence_of(answers(12, rng, content=mostly(0.5)), history)).status == "pass"
    assert judge(evidence_of(answers(12, rng, content=mostly(1.0)), history)).details["sign"] == "looped"


def test_golden_answers_come_before_history() -> None:
    """Golden answers to the same prompts in about 40 tokens; the endpoint has always answered in 4."""
    rng = np.random.default_rng(5)
    history = [answers(index, rng, mean=4) for index in range(12)]
    now = answers(12, rng, mean=4)
    drawn = {f"p{at}": tuple(_ids(rng) for _ in range(8)) for at in range(N)}
    assert judge(evidence_of(now, history)).status == "pass"
    one = judge(replace(evidence_of(now, history), samples=drawn))
    assert (one.status, one.details["against"], one.details["sign"]) == ("fail", "golden", "length")


def _ids(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(one) for one in rng.integers(0, 1000, min(int(rng.geometric(1 / 40)), CAP)))


def test_a_router_that_asked_again_is_seen() -> None:
    rng = np.random.default_rng(8)
    history = [answers(index, rng) for index in range(12)]
    now = answers(12, rng)
    twice = tuple(replace(one, providers=("one", "two")) for one in now.exchanges)
    once = tuple(replace(one, providers=("one",)) for one in now.exchanges)
    assert judge(evidence_of(replace(now, exchanges=once), history)).status == "pass"
    found = judge(evidence_of(replace(now, exchanges=twice), history))
    assert (found.status, found.cause, found.details["sign"]) == ("fail", "routing", "retried")


def test_without_history_it_says_so_and_holds_nothing_up() -> None:
    one = judge(steady(n_runs=2))
    assert (one.status, one.cause) == ("inconclusive", "no_history")


def test_runs_with_other_parameters_are_no_history() -> None:
    made = steady()
    others = [replace(record, run=replace(record.run, params_sha256="1")) for record in made.history]
    assert judge(replace(made, history=tuple(others))).cause == "no_history"


def test_numbers_say_the_same_without_the_text() -> None:
    """The signs travel as flags: the verdict on exchanges whose text was dropped is the same."""
    rng = np.random.default_rng(6)
    history = [answers(index, rng) for index in range(12)]
    now = answers(12, rng, content=lambda draw: LOOP if draw.random() < 0.7 else TEXT)
    exchanges = []
    for one in now.exchanges:
        signs = text_signs(one.choice.content, "", "Weigh it.", n_calls=0, finish=one.choice.finish)
        bare = replace(one, choices=(Choice(finish=one.choice.finish),), flags=sign_flags({**signs, "called": False}))
        assert DROPPED in bare.flags
        assert event_of(bare) == event_of(one)
        exchanges.append(bare)
    with_text = judge(evidence_of(now, history))
    without = judge(evidence_of(replace(now, exchanges=tuple(exchanges)), history))
    assert with_text == without
    assert with_text.status == "fail"


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="alpha"):
        Shape(alpha=0.5)
    with pytest.raises(ValueError, match="min_n"):
        Shape(min_n=0)
