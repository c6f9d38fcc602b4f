"""Oracles: divergences and choices computed by hand for two or three tokens."""

import math

import pytest

from dashboard.positions import NOT_LISTED, Answer, answers, profile
from dashboard.tokens import differing, heat_map, prompts
from monitor.results import GoldenPosition, GoldenView, JudgedRun, RunRecord
from monitor.types import Choice, Exchange, TokenLogprob, TopToken
from tests.dashboard import scenes
from tests.dashboard.scenes import NOW


def position(
    place: int, endpoint: tuple[float, ...], golden: tuple[float, ...], top1: float | None = None
) -> GoldenPosition:
    best = max(golden)
    return GoldenPosition(
        position=place,
        token_id=place,
        golden_logprob=golden[0],
        golden_rank=sum(one > golden[0] for one in golden),
        golden_entropy_nats=1.0,
        golden_top1_logprob=best if top1 is None else top1,
        endpoint_logprob=endpoint[0],
        endpoint_at_golden_top1=None,
        top1_same=golden[0] == best,
        endpoint_top=endpoint,
        golden_top=golden,
    )


def said(*tokens: tuple[str, str]) -> Exchange:
    entries = tuple(
        TokenLogprob(
            token=first, logprob=-0.1, top=(TopToken(token=first, logprob=-0.1), TopToken(token=second, logprob=-3.0))
        )
        for first, second in tokens
    )
    made: Exchange = scenes.exchange(0)
    return Exchange(
        exchange_id=made.exchange_id,
        run_id="r",
        outcome="ok",
        request=made.request,
        usage={"prompt_tokens": 9},
        choices=(Choice(content="".join(first for first, _ in tokens), logprobs=entries),),
    )


def looked_at(exchange: Exchange, *positions: GoldenPosition, prompt_tokens: int | None = 9) -> list[Answer]:
    record: RunRecord = scenes.run("a", "r", NOW, (), exchange)
    view = GoldenView(exchange_id=exchange.exchange_id, run_id="r", prompt_tokens=prompt_tokens, positions=positions)
    judged = JudgedRun(run_id="r", endpoint="a", judged_at=NOW, fingerprint=None, views=(view,), observations=())
    return answers([record], [judged])


HALF, MOST = math.log(0.5), math.log(0.9)


def test_a_token_has_its_divergence_its_gap_and_what_golden_prefers() -> None:
    found = looked_at(
        said(("a", "b"), ("c", "d")),
        position(0, (HALF, HALF), (HALF, HALF)),
        position(1, (MOST, math.log(0.1)), (math.log(0.1), MOST)),
    )
    first, second = found[0].tokens
    assert first.kl == pytest.approx(0, abs=1e-9)
    assert (first.golden, first.gap) == (None, 0.0)
    assert second.golden == "d"
    assert second.gap == pytest.approx(math.log(9))
    # KL of (0.1, 0.9) from (0.9, 0.1)
    assert second.kl == pytest.approx(0.8 * math.log(9))
    assert found[0].same == (1, 2)
    assert found[0].kl == pytest.approx(0.4 * math.log(9))


def test_a_choice_of_golden_that_the_endpoint_did_not_list_is_said_to_be_so() -> None:
    found = looked_at(said(("a", "b")), position(0, (MOST, math.log(0.05)), (math.log(0.1), math.log(0.2)), top1=HALF))
    assert found[0].tokens[0].golden == NOT_LISTED


def test_without_logprobs_tokens_are_named_by_number_and_nothing_is_zero() -> None:
    bare = GoldenPosition(
        position=0,
        token_id=77,
        golden_logprob=None,
        golden_rank=None,
        golden_entropy_nats=None,
        golden_top1_logprob=-0.1,
        endpoint_logprob=None,
        endpoint_at_golden_top1=None,
        top1_same=None,
    )
    exchange = Exchange(exchange_id="x", run_id="r", outcome="ok", choices=(Choice(content="hi"),))
    answer = looked_at(exchange, bare)[0]
    assert answer.tokens[0].text == "#77"
    assert (answer.tokens[0].kl, answer.tokens[0].gap, answer.kl, answer.same) == (None, None, None, (0, 0))
    assert profile([answer]) == []


def test_the_profile_is_the_mean_by_place() -> None:
    far = position(0, (MOST, math.log(0.1)), (math.log(0.1), MOST))
    near = position(1, (HALF, HALF), (HALF, HALF))
    places = profile(looked_at(said(("a", "b"), ("c", "d")), far, near))
    assert [one.place for one in places] == [0, 1]
    assert places[0].mean > places[1].mean == pytest.approx(0, abs=1e-9)
    assert [one.n for one in places] == [1, 1]


def test_tokens_are_text_in_any_script_and_marked_by_more_than_colour() -> None:
    answer = looked_at(
        said(("<script>", "\u202eسمك"), ("月\n", "d")),
        position(0, (MOST, math.log(0.1)), (math.log(0.1), MOST)),
        position(1, (HALF, HALF), (HALF, HALF)),
    )[0]
    drawn = heat_map(answer).text
    assert "<script>" not in drawn
    assert "&lt;script&gt;" in drawn
    assert drawn.count('class="other" style=') == 1
    table = differing(answer)
    assert table is not None
    assert "سمك" in table.text


def test_a_prompt_that_is_billed_otherwise_is_marked() -> None:
    same = prompts(looked_at(said(("a", "b")), position(0, (HALF, HALF), (HALF, HALF)))).text
    other = prompts(looked_at(said(("a", "b")), position(0, (HALF, HALF), (HALF, HALF)), prompt_tokens=12)).text
    assert "≠" not in same
    assert "9 ≠" in other
