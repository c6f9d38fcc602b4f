"""What the `greedy` probe asks, and what it measures by itself; expectations written by hand."""

import pytest

from monitor.types import Choice, Exchange
from monitor.wire.speaker import SAYABLE
from probes.greedy import PROBE, observe


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


@pytest.mark.parametrize("settings", [{"prompts": 0}, {"prompts": 961}, {"tokens": 0}, {"top_k": 0}])
def test_bad_settings_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|960 prompts"):
        PROBE(**settings)
