"""Rates from golden token counts. Oracle: the definition of TPOT (DESIGN section 5), worked out by hand."""

from dataclasses import replace

import pytest

from monitor.types import Exchange
from monitor.wire.dispatch import decode
from monitor.wire.files import load
from monitor.wire.timing import FIRST_UNKNOWN, rates, with_golden_tokens
from tests.wire.golden import FOLDER

FOUR = Exchange(
    outcome="ok", ttft_ms=1000, last_token_ms=2200, token_events=4, tpot_ms=80, tps=12.5, tokens_from="usage",
    usage={"completion_tokens": 16}, flags=("refusal", FIRST_UNKNOWN),
)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "n", "tpot", "density", "guessed"),
    [
        (4, 16, 100.0, 0.25, False),  # 1200 ms for the 12 tokens behind the first event
        (4, 28, 50.0, 4 / 28, False),
        (None, 16, 80.0, 0.25, True),  # a guess: one token in the first event
        (None, 4, 400.0, 1.0, False),  # one token an event is no guess
        (None, 5, 300.0, 0.8, False),  # the end token has no event
        (4, 4, None, 1.0, False),  # nothing behind the first event
        (None, 0, None, None, False),
    ],
)
def test_golden_counts(first: int | None, n: int, tpot: float | None, density: float | None, guessed: bool) -> None:
    counted = with_golden_tokens(replace(FOUR, first_tokens=first), n)
    assert (counted.tpot_ms, counted.events_per_token) == (tpot, density)
    assert counted.tps == (None if tpot is None else 1000 / tpot)
    assert (counted.tokens_golden, counted.tokens_from, counted.usage) == (n, "golden", FOUR.usage)
    assert counted.flags == ("refusal", FIRST_UNKNOWN) if guessed else counted.flags == ("refusal",)


def test_no_rates_where_none_can_be() -> None:
    for exchange in (replace(FOUR, outcome="truncated"), replace(FOUR, ttft_ms=None), replace(FOUR, token_events=None)):
        counted = with_golden_tokens(exchange, 9)
        assert (counted.tpot_ms, counted.tps, counted.tokens_golden) == (None, None, 9)


def test_the_same_count_gives_the_same_rates_as_usage() -> None:
    for name, first in (("TM-03", 4), ("TM-03.own_logprob_counts", 2), ("TM-04", None)):
        exchange = decode(load((FOLDER / f"{name}.timed").read_bytes(), "timed"))
        assert exchange.first_tokens == first
        assert exchange.usage is not None
        counted = with_golden_tokens(exchange, exchange.usage["completion_tokens"])
        assert replace(counted, tokens_golden=None, tokens_from="usage") == exchange


def test_a_window_of_nothing_has_no_rate() -> None:
    assert rates(0.0, 3, None, 3) == (None, None, 1.0)
    assert rates(None, 3, None, 3) == (None, None, 1.0)
