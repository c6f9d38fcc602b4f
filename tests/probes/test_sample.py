"""What the `sample` probe asks, and what it measures by itself; expectations written by hand."""

from dataclasses import replace

import pytest

from monitor.types import Choice, Exchange
from probes.sample import PROBE, observe


def answered(prompt: int, text: str, tokens: int | None = 10) -> Exchange:
    request = replace(PROBE().requests(0)[0], prompt_id=f"p{prompt}")
    usage = None if tokens is None else {"prompt_tokens": 5, "completion_tokens": tokens}
    return Exchange(
        exchange_id=f"{prompt}-{text}", run_id="r", request=request, outcome="ok", choices=(Choice(content=text),),
        usage=usage,
    )  # fmt: skip


def test_asks_for_plain_sampling_and_says_so() -> None:
    requests = PROBE().requests(1)
    assert len(requests) == 25
    asked = {(one.temperature, one.top_p, one.top_logprobs, one.max_tokens) for one in requests}
    assert asked == {(1.0, 1.0, None, 48)}
    assert not any(one.stream for one in requests)


def test_every_request_has_a_seed_of_its_own_also_across_runs() -> None:
    seeds = [one.seed for run in range(20) for one in PROBE(per_prompt=4).requests(run)]
    assert len(set(seeds)) == len(seeds) == 20 * 100


def test_other_prompts_in_every_run() -> None:
    assert {one.prompt_id for one in PROBE().requests(1)} != {one.prompt_id for one in PROBE().requests(2)}
    assert len({one.prompt_id for one in PROBE(per_prompt=3).requests(1)}) == 25


def test_counts_different_answers_to_the_same_prompt() -> None:
    """Prompt 0 gives one text twice, prompt 1 two texts, prompt 2 is asked once: 3 different of 4."""
    seen = [answered(0, "a"), answered(0, "a"), answered(1, "a"), answered(1, "b"), answered(2, "a")]
    length, distinct = observe(seen)
    assert (length.metric, length.value, length.n) == ("sample_tokens", 10, 5)
    assert (distinct.metric, distinct.value, distinct.k, distinct.n) == ("distinct_answers", 0.75, 3, 4)


def test_what_cannot_be_measured_has_a_reason() -> None:
    length, distinct = observe([answered(0, "a", None)])
    assert (length.value, length.n, bool(length.reason)) == (None, 0, True)
    assert (distinct.value, distinct.n, bool(distinct.reason)) == (None, 0, True)


@pytest.mark.parametrize("change", [{"prompts": 961}, {"per_prompt": 0}, {"tokens": 0}, {"top_k": 0}])
def test_impossible_settings_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be|prompts"):
        PROBE(**change)
