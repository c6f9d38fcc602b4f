"""What the probe `identify` asks, with logprobs and without, in the pool's order and in another."""

from typing import Any

import pytest

from probes.identify import Identify
from probes.prompt_pool import named_prompts, pool_prompts


def test_one_token_with_logprobs_or_some_without() -> None:
    with_them, without = Identify(prompts=4).requests(1), Identify(prompts=4, top_k=None).requests(1)
    assert {(one.max_tokens, one.top_logprobs, one.temperature) for one in with_them} == {(1, 20, 0.0)}
    assert {(one.max_tokens, one.top_logprobs, one.temperature) for one in without} == {(12, None, 0.0)}
    assert [one.messages for one in with_them] == [one.messages for one in without]


def test_drawn_tokens_are_asked_for_plainly_each_with_random_numbers_of_its_own() -> None:
    asked = Identify(prompts=8, top_k=None, temperature=1.0).requests(5)
    assert {(one.temperature, one.top_p, one.max_tokens) for one in asked} == {(1.0, 1.0, 12)}
    assert len({one.seed for one in asked}) == 8
    later = Identify(prompts=8, skip=8, top_k=None, temperature=1.0).requests(5)
    assert not {one.seed for one in asked} & {one.seed for one in later}


def test_chosen_prompts_are_asked_in_their_order() -> None:
    # Oracle: the pool itself.
    pool = pool_prompts(960, 0)
    names = ("pool-17", "pool-3", "pool-900", "pool-4")
    asked = Identify(prompts=2, skip=1, chosen=names).requests(1)
    assert [(one.prompt_id, one.messages) for one in asked] == [(name, pool[name]) for name in names[1:3]]
    assert dict(named_prompts(names)) == {name: pool[name] for name in names}


@pytest.mark.parametrize("name", ["pool-960", "pool--1", "pool-x", "17", "border-3"])
def test_names_that_the_pool_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the pool has no prompt"):
        named_prompts([name])


@pytest.mark.parametrize(
    ("values", "words"),
    [({"temperature": 0.7}, "must be 0 or 1"), ({"top_k": 0}, "at least 1"),
     ({"tokens": 0}, "at least 1"), ({"skip": -1}, "at least 0"),
     ({"prompts": 3, "chosen": ("pool-1",)}, "`chosen` has 1 prompts, not 3 behind the first 0")],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Identify(**values)
