"""What the `context` probe asks, and what it measures by itself; expectations written by hand."""

from dataclasses import replace
from typing import Any

import pytest

from monitor.types import Choice, Exchange, Request
from probes.context import PROBE, code_of, observe


def text_of(request: Request) -> str:
    return str(request.messages[0]["content"])


def answered(request: Request, content: str) -> Exchange:
    return Exchange(exchange_id="e", run_id="r", request=request, outcome="ok", choices=(Choice(content=content),))


def test_all_cold_prompts_first_then_the_same_again() -> None:
    requests = PROBE().requests(1)
    assert len(requests) == len({one.prompt_id for one in requests}) == 8
    cold, warm = requests[:4], requests[4:]
    assert [one.prompt_id.removesuffix("-cold") for one in cold] == [
        one.prompt_id.removesuffix("-warm") for one in warm
    ]
    assert [text_of(one) for one in cold] == [text_of(one) for one in warm]


def test_a_prompt_holds_the_code_that_it_asks_for_once_near_the_start_or_in_the_middle() -> None:
    for request in PROBE(per_length=4).requests(5):
        text, code, number = text_of(request), code_of(request), int(request.prompt_id.split("-")[2])
        assert text.count(code) == 1
        assert len(code) == 5
        low, high = ((0.0, 0.2), (0.4, 0.65))[number % 2]
        assert low < text.index(code) / len(text) < high
        assert text.endswith(" is")


def test_lengths_are_about_what_was_asked_for() -> None:
    """A token of such prose is 4.9 characters on SmolLM2's tokenizer (measured: 1,522 tokens for 1,500)."""
    lengths = {int(one.prompt_id.split("-")[1]): len(text_of(one)) / 4.9 for one in PROBE().requests(2)}
    assert lengths == pytest.approx({500: 500, 1500: 1500}, rel=0.05)


def test_no_two_prompts_begin_alike_in_any_run() -> None:
    starts = [text_of(one)[:40] for seed in range(10) for one in PROBE(per_length=3).requests(seed)[:6]]
    assert len(set(starts)) == len(starts)


def test_short_prompts_begin_with_their_own_page() -> None:
    """At 100 tokens there are few notes: 5% of them is none, and the code must not come first for that."""
    for seed in range(20):
        texts = [text_of(one) for one in PROBE(lengths=(100,), per_length=4).requests(seed)[:4]]
        assert all(text.startswith("Page ") for text in texts)
        assert len({text[:16] for text in texts}) == 4


def test_counts_answers_with_their_code() -> None:
    first, second = PROBE().requests(1)[:2]
    (seen,) = observe([answered(first, f"It is {code_of(first)}."), answered(second, code_of(first))])
    assert (seen.value, seen.k, seen.n) == (0.5, 1, 2)
    (nothing,) = observe([replace(answered(first, ""), outcome="stalled")])
    assert (nothing.value, nothing.n) == (None, 0)


@pytest.mark.parametrize(
    "settings", [{"lengths": ()}, {"lengths": (50,)}, {"lengths": (500, 500)}, {"per_length": 0}, {"top_k": 0}]
)
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least"):
        PROBE(**settings)
