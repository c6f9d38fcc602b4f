"""The incident reducer: opens on fail, closes on pass, keeps its id, ignores what is old or says nothing."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.alerting import step
from monitor.results import Incident, Status, Verdict

START = datetime(2026, 11, 29, tzinfo=UTC)


def verdict(status: Status, minute: int, cause: str | None = "weights") -> Verdict:
    return Verdict(
        verdict_id=f"v{minute}", endpoint="a/b", detector="logprob_fidelity", detector_version=1,
        at=START + timedelta(minutes=minute), status=status, cause=cause, statistic="kl_nats", effect=0.3, unit="nats",
        low=0.2, high=0.4, n=10, threshold=0.02, reason=f"because {minute}", run_ids=(),
    )  # fmt: skip


def test_opens_prolongs_and_closes_with_one_id() -> None:
    opened = step(None, verdict("fail", 0))
    assert opened is not None
    prolonged = step(opened, verdict("fail", 1, "template"))
    assert prolonged is not None
    closed = step(prolonged, verdict("pass", 2))
    assert closed is not None
    assert opened.incident_id == prolonged.incident_id == closed.incident_id
    assert (prolonged.cause, prolonged.n_verdicts) == ("template", 2)
    assert closed.closed_at == START + timedelta(minutes=2)
    assert closed.reason == "because 1"


def test_silence_of_uncertain_verdicts() -> None:
    opened = step(None, verdict("fail", 0))
    silent: tuple[Status, ...] = ("suspect", "inconclusive")
    for status in silent:
        assert step(None, verdict(status, 1)) is None
        assert step(opened, verdict(status, 1)) is None
    assert step(None, verdict("pass", 1)) is None


def test_old_and_repeated_verdicts_change_nothing() -> None:
    opened = step(None, verdict("fail", 5))
    assert step(opened, verdict("pass", 4)) is None
    assert step(opened, verdict("fail", 5)) is None


@given(st.lists(st.sampled_from(["pass", "suspect", "fail", "inconclusive"]), max_size=30))
def test_an_incident_is_open_exactly_from_a_fail_to_the_next_pass(statuses: list[Status]) -> None:
    current: Incident | None = None
    expected = False
    for minute, status in enumerate(statuses):
        after = step(current, verdict(status, minute))
        current = None if after is not None and after.closed_at is not None else after or current
        expected = True if status == "fail" else expected and status != "pass"
        assert (current is not None) == expected
