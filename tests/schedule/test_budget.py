"""Budgets of UTC days. Oracle: sums by hand, and a model that adds up what was really spent."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.budget import Amount, Budget, Spent, cost_of, over, priced
from monitor.types import Endpoint, Exchange, Outcome

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
FIXED = settings(deadline=None, derandomize=True, max_examples=100)
PAID = Endpoint(name="a/x", provider="a", base_url="http://h", model="m", price_in_usd=2.0, price_out_usd=10.0)
PLANNED = priced(PAID, 500, 320)


def answered(**usage: int) -> Exchange:
    return Exchange(outcome="ok", status=200, usage=usage or None)


def test_tokens_and_money() -> None:
    assert PLANNED.tokens == 820
    assert PLANNED.usd == pytest.approx(0.001 + 0.0032)
    assert priced(Endpoint(name="a/x", provider="a", base_url="http://h", model="m"), 1, 0).usd is None


def test_a_run_costs_what_the_endpoint_counted() -> None:
    asked = [answered(prompt_tokens=100, completion_tokens=64), answered(prompt_tokens=110, completion_tokens=60)]
    assert cost_of(PAID, asked, PLANNED) == priced(PAID, 210, 124)


def test_an_answer_without_usage_costs_its_share_of_the_plan_and_a_refusal_nothing() -> None:
    refused = Exchange(outcome="rate_limited", status=429)
    assert cost_of(PAID, [answered(), refused, refused, refused, refused], PLANNED) == priced(PAID, 100, 64)
    assert cost_of(PAID, [], PLANNED) == Amount()


@pytest.mark.parametrize("outcome", ["timeout_first_byte", "stalled", "truncated", "filtered", "empty", "client_limit"])
def test_a_request_that_was_sent_may_have_been_worked_on(outcome: Outcome) -> None:
    """No word came back, so nobody counted: never less than it may have cost."""
    assert cost_of(PAID, [Exchange(outcome=outcome)], PLANNED) == PLANNED


@pytest.mark.parametrize("outcome", ["connect_error", "tls_trust", "tls_dropped", "not_run", "unsupported_param",
                                     "auth_error", "quota_exhausted", "http_4xx", "http_5xx", "redirect",
                                     "address_refused"])  # fmt: skip
def test_what_was_refused_or_never_sent_costs_nothing(outcome: Outcome) -> None:
    assert cost_of(PAID, [Exchange(outcome=outcome)], PLANNED) == Amount()


def test_a_gateway_that_gave_up_and_a_connection_that_closed_hide_what_the_model_did() -> None:
    gone = [Exchange(outcome="http_5xx", status=504, flags=("gateway_timeout",)),
            Exchange(outcome="connect_error", sent_ms=1.0), Exchange(outcome="not_run", sent_ms=1.0)]  # fmt: skip
    for one in gone:
        assert cost_of(PAID, [one], PLANNED) == PLANNED


def test_over_says_how_much_and_which_day() -> None:
    spent = Spent(day=date(2026, 11, 29), amount=priced(PAID, 9000, 500))
    told = over(Budget(tokens=10_000), spent, PLANNED)
    assert told == (
        "over budget: 9,500 of 10,000 tokens are spent on 2026-11-29 (UTC), and this run may take 820"
    )
    assert over(Budget(tokens=10_320), spent, PLANNED) is None
    assert "0.023 of 0.024 USD" in (over(Budget(usd=0.024), spent, PLANNED) or "")
    assert over(Budget(), spent, PLANNED) is None


def test_a_new_utc_day_starts_at_nothing_and_a_clock_set_back_opens_none() -> None:
    spent = Spent(day=NOON.date()).reserved(PLANNED)
    assert spent.on(NOON + timedelta(hours=11)).amount == PLANNED
    assert spent.on(NOON + timedelta(hours=12)).amount == Amount()
    assert spent.on(NOON - timedelta(days=3)).amount == PLANNED


@FIXED
@given(runs=st.lists(st.tuples(st.integers(0, 500), st.booleans()), max_size=30))
def test_what_is_counted_is_never_below_what_was_spent_nor_above_the_budget(runs: list[tuple[int, bool]]) -> None:
    """Runs cost up to what was planned; some are killed before they are settled."""
    budget, planned = Budget(tokens=3000), Amount(tokens_in=500, usd=None)
    spent, really = Spent(day=NOON.date()), 0
    for tokens, killed in runs:
        if over(budget, spent, planned) is not None:
            continue
        spent = spent.reserved(planned)
        really += tokens
        if not killed:
            spent = spent.settled(planned, Amount(tokens_in=tokens, usd=None))
        assert really <= spent.amount.tokens <= 3000
