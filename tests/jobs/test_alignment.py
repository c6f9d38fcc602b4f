"""Endpoint tokens onto golden ids: what cannot be mapped is said, never guessed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from jobs.alignment import align, is_canonical
from monitor.errors import TaskRefusedError
from monitor.types import Choice, Exchange, Request, TokenLogprob, TopToken
from tests.fakes.golden import EOS, FakeScorer, FakeTokenizer

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
    assert aligned.tokens.slots[0].listed == {98: -0.4, 97: -0.9}


def test_duplicates_and_masked_values_are_left_out() -> None:
    tops = (
        TopToken(token="b", logprob=-0.4), TopToken(token="b", logprob=-3.0), TopToken(token="z", logprob=None),
    )  # fmt: skip
    aligned = align(exchange(entry("b", -0.4, *tops)), FakeTokenizer())
    assert aligned.tokens.slots[0].listed == {98: -0.4}


def test_foreign_token_ends_the_comparison_and_says_where() -> None:
    aligned = align(exchange(entry("a"), entry("wholeword"), entry("b")), FakeTokenizer())
    assert [slot.token_id for slot in aligned.tokens.slots] == [97]
    assert aligned.tokens.problem is not None
    assert "'wholeword' at position 1" in aligned.tokens.problem


def test_own_id_is_believed_only_without_text() -> None:
    silent = TokenLogprob(token="", logprob=-0.1, id=0)
    assert align(exchange(silent), FakeTokenizer()).tokens.slots[0].token_id == 0
    spoken = TokenLogprob(token="wholeword", logprob=-0.1, id=5)
    assert align(exchange(spoken), FakeTokenizer()).tokens.slots == ()


@pytest.mark.parametrize(
    "piece", [TopToken(token="", logprob=-0.2, bytes=()), TopToken(token="", logprob=-0.2, id=77),
              TopToken(token="\ufffd", logprob=-0.2, bytes=(0xEF, 0xBF, 0xBD))]
)  # fmt: skip
def test_pieces_of_characters_that_the_endpoint_does_not_tell_apart_are_not_taken_for_tokens(piece: TopToken) -> None:
    """As vLLM 0.32 and older ones write them; most vocabularies have a token for U+FFFD itself."""

    class Real(FakeTokenizer):
        def token_id(self, token: str, raw: Sequence[int] | None = None) -> int | None:
            known = {b"": EOS, b"\xef\xbf\xbd": 200}
            data = bytes(raw or token.encode())
            return known[data] if data in known else super().token_id(token, raw)

    aligned = align(exchange(entry("a", -0.9, piece, piece)), Real())
    assert aligned.tokens.slots[0].listed == {97: -0.9}
    said = TokenLogprob(token=piece.token, logprob=-0.2, bytes=piece.bytes, id=piece.id, top=(piece,))
    aligned = align(exchange(entry("a"), said, entry("b")), Real())
    assert [slot.token_id for slot in aligned.tokens.slots] == [97]
    assert "at position 1 is not one of the golden vocabulary" in str(aligned.tokens.problem)


def test_unusable_position_and_missing_request() -> None:
    assert align(exchange(entry("a", None)), FakeTokenizer()).tokens.problem == "no usable logprob at position 0"
    assert align(exchange(), FakeTokenizer()).tokens.problem == "the answer has no logprobs"
    unasked = align(replace(exchange(entry("a")), request=None), FakeTokenizer())
    assert (unasked.task, unasked.prompt_tokens) == (None, None)  # not 0: nobody knows


def test_a_conversation_that_the_golden_template_refuses_costs_that_exchange_alone() -> None:
    """Some templates cannot render a message without content, as a turn that only called tools is."""

    class Refusing(FakeTokenizer):
        def prompt_ids(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:
            raise TaskRefusedError("the golden chat template refuses this conversation: no content")

    view = align(exchange(entry("a")), Refusing()).view(None)
    assert view.prompt_tokens is None  # and not 0, which would be another length than the endpoint counts
    assert "refuses this conversation" in str(view.problem)


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


def said(text: str, *, finish: str = "length", tokens: int | None = None, **more: Any) -> Exchange:
    """An answer without logprobs, asked for at temperature 0 unless `more` of the request says otherwise."""
    return Exchange(
        exchange_id="e", run_id="r", request=replace(ASK, **{"top_logprobs": None, "temperature": 0.0, **more}),
        outcome="ok", choices=(Choice(content=text, finish=finish),),
        usage=None if tokens is None else {"completion_tokens": tokens, "prompt_tokens": 30},
    )  # fmt: skip


@pytest.mark.parametrize(("tokens", "canonical"), [(None, None), (2, True), (3, False), (1, False)])
def test_text_alone_is_split_by_the_golden_tokenizer_and_checked_against_the_endpoints_count(
    tokens: int | None, canonical: bool | None
) -> None:
    aligned = align(said("ab", tokens=tokens), FakeTokenizer())
    view = aligned.view(FakeScorer().score([aligned.task])[0]) if aligned.task else None
    assert view is not None
    assert [position.token_id for position in view.positions] == [97, 98]
    assert (view.tokens_from, view.canonical, view.problem) == ("text", canonical, None)
    assert view.positions[0].endpoint_top == ()
    assert view.positions[0].top1_same is None
    assert view.positions[0].log_norms == ()
    top = view.positions[0].golden_top1_logprob
    assert view.positions[0].rivals[0][1] == top
    assert all(top - 4.0 <= logprob <= top for _, logprob in view.positions[0].rivals)


@pytest.mark.parametrize(("tokens", "canonical"), [(2, True), (3, True), (4, False)])
def test_the_end_token_may_be_counted_or_not(tokens: int, canonical: bool) -> None:
    assert align(said("ab", finish="stop", tokens=tokens), FakeTokenizer()).tokens.canonical is canonical


def test_an_answer_that_ended_by_itself_ends_with_the_end_token() -> None:
    stopped = align(said("ab", finish="stop"), FakeTokenizer()).tokens.slots
    assert [slot.token_id for slot in stopped] == [97, 98, EOS]


def test_reasoning_and_nothing_are_not_split() -> None:
    hidden = replace(said("ab"), choices=(Choice(content="ab", reasoning="because"),))
    assert align(hidden, FakeTokenizer()).task is None
    assert "neither logprobs nor text" in str(align(said(""), FakeTokenizer()).tokens.problem)


@pytest.mark.parametrize(("more", "drawn"), [({"temperature": 1.0}, True), ({"temperature": 1.0, "top_p": 0.9}, False),
                                             ({"temperature": 0.7}, False), ({}, False)])  # fmt: skip
def test_only_plain_samples_at_temperature_1_get_what_tests_of_samplers_need(
    more: dict[str, Any], drawn: bool
) -> None:
    aligned = align(said("aba", **more), FakeTokenizer())
    assert aligned.task is not None
    assert aligned.task.drawn is drawn
    positions = aligned.view(FakeScorer().score([aligned.task])[0]).positions
    assert [position.was_said for position in positions] == ([False, False, True] if drawn else [None] * 3)
    assert all(bool(position.log_norms) is drawn for position in positions)


def test_the_answer_is_counted_in_golden_tokens_where_all_of_it_is_known() -> None:
    assert align(exchange(entry("a"), entry("c")), FakeTokenizer()).view(None).completion_tokens == 2
    assert align(said("ab", finish="stop"), FakeTokenizer()).view(None).completion_tokens == 2  # without the end token
    assert align(exchange(entry("a"), entry("wholeword")), FakeTokenizer()).view(None).completion_tokens is None
    assert align(said(""), FakeTokenizer()).view(None).completion_tokens is None
