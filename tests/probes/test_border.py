"""What the border probe asks: prompts by name, own texts, and a fixed subset of the pool without any."""

import pytest

from probes.border import Border
from probes.prompt_pool import pool_prompts
from probes.prompts import PROMPTS


def test_asks_the_same_pool_prompts_in_every_run() -> None:
    """Oracle: the pool's own prompts; answers are compared, so no seed may change them."""
    probe = Border()
    first, second = probe.requests(1), probe.requests(2)
    assert [one.messages for one in first] == [one.messages for one in second]
    assert len(first) == 40
    pool = pool_prompts(960, 0)
    assert all(pool[one.prompt_id] == one.messages for one in first)


def test_prompts_are_named_or_written_out() -> None:
    """Oracle: the pool, the fixed set, and the text itself."""
    named, fixed, text = Border(prompts=("pool-17", "river", "What now?")).requests(0)
    assert named.messages == pool_prompts(960, 0)["pool-17"]
    assert fixed.messages == PROMPTS["river"]
    assert text.messages == ({"role": "user", "content": "What now?"},)
    assert text.prompt_id.startswith("text-")


def test_one_greedy_token_each_without_logprobs() -> None:
    """Oracle: the probe's promise of what it costs."""
    for one in Border(tokens=3).requests(0):
        assert (one.max_tokens, one.temperature, one.top_logprobs) == (3, 0.0, None)


@pytest.mark.parametrize("prompts", [("a", "a"), (" ",)])
def test_refuses_repeated_and_empty_prompts(prompts: tuple[str, ...]) -> None:
    """Oracle: the message names the field."""
    with pytest.raises(ValueError, match="prompts"):
        Border(prompts=prompts)
