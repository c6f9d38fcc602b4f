"""What the `greedy` probe asks, and what it measures by itself; expectations written by hand."""

from typing import Any

import pytest

from monitor.types import Choice, Exchange
from monitor.wire.speaker import SAYABLE
from probes.greedy import PROBE, observe
from probes.prompt_pool import pool_prompts


def answered(tokens: int | None) -> Exchange:
    return Exchange(
        exchange_id="e", run_id="r", request=PROBE().requests(0)[0], outcome="ok", choices=(Choice(content="a"),),
        usage=None if tokens is None else {"prompt_tokens": 5, "completion_tokens": tokens},
    )  # fmt: skip


def test_asks_for_short_greedy_answers_with_logprobs_where_they_can_be_had() -> None:
    requests = PROBE().requests(1)
    assert len(requests) == len({one.prompt_id for one in requests}) == 20
    assert {(one.temperature, one.max_tokens, one.top_logprobs, one.stream) for one in requests} == {
        (0.0, 32, 20, False)
    }
    assert all("top_logprobs" in one.optional for one in requests)
    assert all("temperature" in SAYABLE and "temperature" not in one.optional for one in requests)


def test_text_only_asks_for_no_logprobs() -> None:
    assert {one.top_logprobs for one in PROBE(top_k=None).requests(1)} == {None}


def test_other_prompts_in_every_run() -> None:
    assert {one.prompt_id for one in PROBE().requests(1)} != {one.prompt_id for one in PROBE().requests(2)}


def test_says_how_long_the_answers_are() -> None:
    (seen,) = observe([answered(10), answered(20), answered(None)])
    assert (seen.value, seen.n) == (15.0, 2)
    (nothing,) = observe([answered(None)])
    assert (nothing.value, nothing.n) == (None, 0)


def test_chosen_prompts_are_the_same_with_every_seed() -> None:
    # Oracle: the pool itself.
    pool = pool_prompts(960, 0)
    some = PROBE(prompts=2, skip=1, chosen=("pool-5", "pool-17", "pool-3"))
    for seed in (1, 2):
        asked = {request.prompt_id: request.messages for request in some.requests(seed)}
        assert asked == {"pool-17": pool["pool-17"], "pool-3": pool["pool-3"]}


@pytest.mark.parametrize("settings", [{"prompts": 0}, {"prompts": 961}, {"tokens": 0}, {"top_k": 0},
                                      {"prompts": 2, "chosen": ("pool-1",)},
                                      {"prompts": 1, "chosen": ("pool-x",)}])  # fmt: skip
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|960 prompts|has 1 prompts, not 2|no prompt 'pool-x'"):
        PROBE(**settings)
