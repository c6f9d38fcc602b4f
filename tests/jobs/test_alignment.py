"""Endpoint tokens onto golden ids: what cannot be mapped is said, never guessed."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from jobs.alignment import align, is_canonical
from monitor.types import Choice, Exchange, Request, TokenLogprob, TopToken
from tests.fakes.golden import FakeScorer, FakeTokenizer

ASK = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=2, top_logprobs=2)


def exchange(*entries: TokenLogprob) -> Exchange:
    return Exchange(
        exchange_id="e", run_id="r", request=ASK, outcome="ok", choices=(Choice(content="ab", logprobs=entries),)
    )


def entry(token: str, logprob: float | None = -0.5, *top: TopToken) -> TokenLogprob:
    return TokenLogprob(token=token, logprob=logprob, bytes=tuple(token.encode()), top=top)


def test_bytes_decide_and_positions_line_up_with_golden() -> None:
    tops = (TopToken(token="b", logprob=-0.4, bytes=(98,)), TopToken(token="a", logprob=-0.5, bytes=(97,)))
    aligned = align(exchange(entry("a", -0.5, *tops), entry("c", -0.1)), FakeTokenizer())
    assert aligned.task is not None
    assert aligned.task.completion_ids == (97, 99)
    assert aligned.task.gather == ((98, 97), (99,))
    assert aligned.prompt_tokens == len(FakeTokenizer().prompt_ids(ASK.messages))
    scorer = FakeScorer()
    view = aligned.view(scorer.score([aligned.task])[0])
    assert [position.token_id for position in view.positions] == [97, 99]
    assert view.positions[0].endpoint_top == (-0.4, -0.5)
    assert view.positions[0].golden_top[1] == pytest.approx(view.positions[0].golden_logprob)


def test_sampled_token_missing_from_the_list_is_added() -> None:
    aligned = align(exchange(entry("a", -0.9, TopToken(token="b", logprob=-0.4))), FakeTokenizer())
    assert aligned.slots[0].listed == {98: -0.4, 97: -0.9}


def test_duplicates_and_masked_values_are_left_out() -> None:
    tops = (
        TopToken(token="b", logprob=-0.4), TopToken(token="b", logprob=-3.0), TopToken(token="z", logprob=None),
    )  # fmt: skip
    aligned = align(exchange(entry("b", -0.4, *tops)), FakeTokenizer())
    assert aligned.slots[0].listed == {98: -0.4}


def test_foreign_token_ends_the_comparison_and_says_where() -> None:
    aligned = align(exchange(entry("a"), entry("wholeword"), entry("b")), FakeTokenizer())
    assert [slot.token_id for slot in aligned.slots] == [97]
    assert aligned.problem is not None
    assert "'wholeword' at position 1" in aligned.problem


def test_own_id_is_believed_only_without_text() -> None:
    silent = TokenLogprob(token="", logprob=-0.1, id=0)
    assert align(exchange(silent), FakeTokenizer()).slots[0].token_id == 0
    spoken = TokenLogprob(token="wholeword", logprob=-0.1, id=5)
    assert align(exchange(spoken), FakeTokenizer()).slots == ()


def test_unusable_position_and_missing_request() -> None:
    assert align(exchange(entry("a", None)), FakeTokenizer()).problem == "no usable logprob at position 0"
    assert align(exchange(), FakeTokenizer()).problem == "the answer has no logprobs"
    assert align(replace(exchange(entry("a")), request=None), FakeTokenizer()).task is None


def test_the_prompt_is_told_by_part() -> None:
    aligned = align(exchange(entry("a")), FakeTokenizer())
    assert aligned.prompt_parts == {"system": 16, "tools": 0, "stub": 11, "history": 9}
    view = aligned.view(None)
    assert sum(view.prompt_parts.values()) == view.prompt_tokens


class Pairs(FakeTokenizer):
    """Has a token 300 for "ab", which its own split always uses."""

    def encode(self, text: str) -> list[int]:
        return [300 if piece == "ab" else ord(piece) for piece in re.findall("ab|.", text)]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join("ab" if identifier == 300 else chr(identifier) for identifier in ids)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [([300, 99], True), ([97, 98, 99], False), ([99, 97, 98, 0], False), ([99, 97], True), ([0], True), ([], True)],
)
def test_another_split_than_the_tokenizers_is_seen(ids: list[int], expected: bool) -> None:
    """End tokens do not count."""
    assert is_canonical(ids, Pairs()) is expected


def test_the_view_says_whether_the_split_is_canonical() -> None:
    assert align(exchange(entry("a"), entry("b"), entry("c")), FakeTokenizer()).view(None).canonical is True
    assert align(exchange(entry("a"), entry("b"), entry("c")), Pairs()).view(None).canonical is False
    assert align(exchange(), FakeTokenizer()).view(None).canonical is None
