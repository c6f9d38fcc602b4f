"""Long prompts on made answers: cuts, caches and divergences are known, so is what they must be called."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.long_context import LongContext
from monitor.results import Evidence, Run, Verdict
from monitor.types import Exchange
from tests.detectors.made import AT, evidence
from tests.detectors.made_greedy import (
    CONTEXT_LENGTHS,
    CONTEXT_NAMES,
    after_temperature,
    flips,
    greedy_evidence,
    leaning,
)

LENGTHS = CONTEXT_LENGTHS
NAMES = CONTEXT_NAMES


def judge(made: Evidence, **settings: float) -> Verdict:
    return LongContext(**settings).run(made, at=AT, rng=np.random.default_rng(0))  # type: ignore[arg-type]


def long(context: float = 0.0, token: float = 0.0, deltas: Sequence[int] | None = None, seed: int = 0) -> Evidence:
    return leaning(8, 12, context=context, token=token, probe="context", names=NAMES, prompt_tokens=LENGTHS,
                   deltas=deltas, seed=seed)  # fmt: skip


def beside(context: Evidence, greedy: Evidence) -> Evidence:
    """One evidence of two runs."""
    runs: tuple[Run, ...] = (*context.runs, replace(greedy.runs[0], run_id="r2"))
    moved = tuple(replace(one, exchange_id=f"g{one.exchange_id}", run_id="r2") for one in greedy.exchanges)
    golden = {f"g{key}": view for key, view in greedy.golden.items()}
    return replace(
        context, runs=runs, exchanges=(*context.exchanges, *moved), golden={**context.golden, **golden}
    )  # fmt: skip


def saying(made: Evidence, content: Callable[[Exchange], str]) -> Evidence:
    changed = tuple(
        replace(one, choices=tuple(replace(choice, content=content(one)) for choice in one.choices))
        for one in made.exchanges
    )
    return replace(made, exchanges=changed)


def code(exchange: Exchange) -> str:
    return exchange.request.prompt_id.split("-")[3] if exchange.request else ""


def test_a_faithful_endpoint_passes_within_one_run() -> None:
    verdict = judge(saying(long(context=0.01), code))
    assert (verdict.status, verdict.cause, verdict.n) == ("pass", None, 96)
    assert verdict.statistic == "long_kl_nats"
    assert (verdict.details["n_long"], verdict.details["codes_found"], verdict.details["n_cut"]) == (8, 8, 0)


def test_false_failures_of_a_faithful_endpoint() -> None:
    """Half of the tolerated divergence, 50 worlds: none fails, and none is suspect."""
    found = {judge(long(context=0.07, seed=seed)).status for seed in range(50)}
    assert found <= {"pass", "inconclusive"}


def test_long_off_and_short_clean_is_the_cache() -> None:
    verdict = judge(beside(long(context=0.6), leaning(20, 8, context=0.01)))
    assert (verdict.status, verdict.cause) == ("fail", "kv_cache")
    assert verdict.details["short_nats"] < 0.001 < verdict.details["long_nats"]


def test_both_off_is_the_weights_unless_off_by_context() -> None:
    """The oracle is how the short answers were made: off by token, or off anew in each context."""
    weights = judge(beside(long(token=0.5), leaning(20, 16, token=0.4, context=0.3)))
    assert (weights.status, weights.cause) == ("fail", "weights")
    cache = judge(beside(long(context=0.5), leaning(20, 16, context=0.5)))
    assert (cache.status, cache.cause) == ("fail", "kv_cache")


def test_a_cut_prompt_is_certain_and_the_engines() -> None:
    cut = [0, 0, -476, -476, 0, 0, -476, -476]
    verdict = judge(beside(long(context=0.0, deltas=cut), leaning(20, 8)))
    assert (verdict.status, verdict.cause) == ("fail", "engine")
    assert (verdict.details["n_cut"], verdict.details["most_missing"]) == (4, 476)
    assert "was cut" in verdict.reason


def test_another_template_is_not_a_cut() -> None:
    """20 tokens less on every prompt, long and short, are the template's: 20 of 1,500 are within what is no cut."""
    verdict = judge(beside(long(token=0.5, deltas=[-14] * 8), leaning(20, 8, token=0.5, deltas=[-14] * 20)))
    assert (verdict.status, verdict.cause) == ("fail", "template")


def test_a_difference_between_cold_and_warm_is_the_engines() -> None:
    warm, cold = long(context=0.6), long(context=0.0)
    golden = {key: (warm if index >= 4 else cold).golden[key] for index, key in enumerate(cold.golden)}
    exchanges = cold.exchanges[:4] + warm.exchanges[4:]
    verdict = judge(replace(cold, golden=golden, exchanges=exchanges))
    assert (verdict.status, verdict.cause) == ("fail", "engine")
    assert verdict.details["cold_nats"] < 0.001 < verdict.details["warm_nats"]


def test_by_text_flips_are_counted() -> None:
    named = {"probe": "context", "names": NAMES, "prompt_tokens": LENGTHS}
    clean = judge(greedy_evidence(flips(8, 12, 0.0), **named))  # type: ignore[arg-type]
    assert (clean.statistic, clean.status, clean.cause) == ("long_flip_rate", "inconclusive", "undecided")
    many = judge(beside(
        greedy_evidence(flips(8, 12, 0.4), **named), greedy_evidence(flips(20, 32, 0.0))  # type: ignore[arg-type]
    ))  # fmt: skip
    assert (many.statistic, many.status, many.cause) == ("long_flip_rate", "fail", "kv_cache")


def test_logprobs_after_temperature_leave_faithful_weights_to_their_flips() -> None:
    """The oracle is how the answers were made: golden's own, with logprobs that say nothing of the weights."""
    alone = judge(after_temperature(long(context=0.01)))
    assert (alone.statistic, alone.status, alone.effect) == ("long_flip_rate", "inconclusive", 0.0)
    faithful = judge(after_temperature(beside(long(context=0.01), leaning(20, 8, context=0.01))))
    assert faithful.status != "fail"
    assert (faithful.details["long_nats"], faithful.details["short_nats"]) == (None, None)
    off = judge(after_temperature(beside(long(token=1.5), leaning(20, 16, token=1.5))))
    assert (off.statistic, off.status, off.cause) == ("long_flip_rate", "fail", "weights")


def test_misses_that_golden_shares_are_no_misses() -> None:
    shared = judge(saying(long(), lambda _: "no idea"))
    assert (shared.details["codes_found"], shared.details["codes_missed"]) == (0, 0)
    own = judge(saying(long(context=1.5), lambda _: "no idea"))
    assert own.details["codes_missed"] > 4


def test_too_little_is_inconclusive() -> None:
    assert judge(evidence()).cause == "not_asked"
    too_long = long()
    views = {k: replace(v, positions=(), problem="9000 tokens exceed the context") for k, v in too_long.golden.items()}
    verdict = judge(replace(too_long, golden=views))
    assert (verdict.status, verdict.cause) == ("inconclusive", "not_comparable")
    assert "exceed the context" in verdict.reason


@pytest.mark.parametrize(
    "settings",
    [{"full_precision_nats": 0.0}, {"tolerated_rate": 0.4}, {"cut_share": 0.0}, {"alpha": 0.2}, {"min_long": 0}],
)
def test_bad_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        LongContext(**settings)  # type: ignore[arg-type]
