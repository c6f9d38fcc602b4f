"""Waits after 429 and empty accounts. Oracle: case TR-03 through the decoder, and sums by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.backoff import MOST_S, Wait, reason, wait_after
from monitor.types import Capture, Exchange, Read
from monitor.wire.dispatch import decode

NOW = datetime(2026, 10, 21, 7, 27, 50, tzinfo=UTC)
BODY = b'{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}'
EMPTY = b'{"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}'


def refusal(retry_after: str | None, body: bytes = BODY) -> Exchange:
    """What the decoder makes of a 429 with this header."""
    headers = (("content-type", "application/json"), *((("retry-after", retry_after),) if retry_after else ()))
    capture = Capture(status=429, headers=headers, reads=(Read(2, body),), t0_ns=1, eof_ns=3, started_at=NOW)
    return decode(capture)


def waits(exchange: Exchange, before: Wait | None = None) -> float:
    wait = wait_after([Exchange(outcome="ok"), exchange], NOW, before)
    assert wait is not None
    return (wait.until - NOW).total_seconds()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        ("0.503", 0.503),
        (" 7", 7.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 10.0),
        ("Wed, 21 Oct 2026 07:20:00 GMT", 0.0),
        ("-1", 60.0),
        ("soon", 60.0),
        (None, 60.0),
        ("86400", 120.0),
    ],
)
def test_case_tr_03_every_form_of_retry_after(value: str | None, seconds: float) -> None:
    assert waits(refusal(value)) == seconds


def test_without_a_word_the_wait_doubles_up_to_an_hour_and_a_good_run_ends_it() -> None:
    wait: Wait | None = None
    seconds = []
    for _ in range(9):
        wait = wait_after([refusal(None)], NOW, wait)
        assert wait is not None
        seconds.append((wait.until - wait.since).total_seconds())
    assert seconds == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert wait_after([Exchange(outcome="ok")], NOW, wait) is None
    assert waits(refusal(None), wait) == 60, "something was answered: it does not grow"


def test_an_empty_account_waits_an_hour_or_until_the_stated_reset() -> None:
    assert waits(refusal(None, EMPTY)) == MOST_S
    assert waits(refusal("30", EMPTY)) == 30.0
    assert waits(refusal("1800", EMPTY)) == 1800.0
    assert waits(refusal("86400", EMPTY)) == 86400.0
    assert waits(refusal("604800", EMPTY)) == 86400.0, "at least one try a day"
    wait = wait_after([refusal("604800", EMPTY)], NOW, None)
    assert wait is not None
    assert wait.why == "the quota is exhausted"


def test_the_longest_wait_of_a_run_counts_and_other_faults_do_not() -> None:
    wait = wait_after([refusal("2"), refusal("20"), Exchange(outcome="http_5xx")], NOW, None)
    assert wait is not None
    assert wait.until == NOW + timedelta(seconds=20)
    assert wait_after([Exchange(outcome="http_5xx"), Exchange(outcome="connect_error")], NOW, None) is None


def test_it_holds_until_its_end_and_not_for_a_clock_that_was_set_back() -> None:
    wait = wait_after([refusal("60")], NOW, None)
    assert wait is not None
    held = [wait.holds(NOW + timedelta(seconds=s)) for s in (-3600, 0, 59, 60)]
    assert held == [False, True, True, False]
    assert reason(wait) == (
        "backing off: the endpoint answered 429 at 2026-10-21T07:27:50Z; next try after 2026-10-21T07:28:50Z"
    )
