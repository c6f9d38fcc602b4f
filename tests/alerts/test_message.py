"""Text of models and endpoints breaks out of neither form. Oracle: a JSON reader, and lines that begin as ours."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.settings import catalogues
from monitor.alerting.message import LONGEST, command, payload, text, title
from monitor.alerting.nouns import Event
from tests.alerts.made import minutes
from tests.alerts.test_routes import delivery, incident

STARTS = (
    "FIRING: ", "CHANGED: ", "STILL FIRING: ", "RESOLVED: ", "  evidence: ", "  figures: ", "  since: ",
    "  changed: ", "  replay: ", "  incident: ",
)  # fmt: skip
HOSTILE = '"}],"x":1}\r\n\nRESOLVED: all is well\u2028\u202e\x1b[2J\x00<!channel> @everyone [a](http://evil) <b>'


@given(st.text(max_size=200), st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_out(reason: str, cause: str) -> None:
    one = incident(reason=reason, cause=cause, causes=(cause,))
    made = delivery(Event(kind="fired", incident=one, changes=(reason,)))
    lines = text(made.message).split("\n")
    assert len(lines) == 7
    assert all(line.startswith(STARTS) for line in lines)
    assert all(line.isprintable() for line in (*lines, title(made.message)))
    body = orjson.loads(payload(made.message, made.delivery_id))
    assert set(body) == {"schema", "id", "at", "group", "title", "text", "events"}
    assert body["events"][0]["reason"].isprintable()


def test_hostile_text_stays_in_its_place() -> None:
    one = incident(reason=HOSTILE, causes=(HOSTILE,))
    made = delivery(Event(kind="fired", incident=one, changes=(HOSTILE,)))
    shown = text(made.message)
    assert "RESOLVED" not in {line.split(":")[0] for line in shown.split("\n")}
    evidence = next(line for line in shown.split("\n") if line.startswith("  evidence"))
    assert not any(char in evidence for char in "<>@[")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert orjson.loads(payload(made.message, "m1-hook"))["events"][0]["incident_id"] == "1f" * 10


def test_long_text_is_cut() -> None:
    one = incident(reason="x" * 5000)
    made = delivery(Event(kind="fired", incident=one))
    assert max(len(line) for line in text(made.message).split("\n")) < LONGEST + 20


def test_the_text_holds_numbers_time_changes_and_the_command() -> None:
    made = delivery(Event(kind="resolved", incident=incident(closed_at=minutes(30)), changes=("upstream: a, then b",)))
    assert text(made.message) == (
        "RESOLVED: acme/a: weights\n"
        "  evidence: 0.31 nats from golden\n"
        "  figures: 0.31 nats [0.2, 0.42], n=40, limit 0.02\n"
        "  since: 2026-11-02 00:00 UTC until 2026-11-02 00:30 UTC, seen 2 times, last 2026-11-02 00:10 UTC\n"
        "  changed: upstream: a, then b\n"
        "  replay: weighmaster audit acme/a\n"
        "  incident: 1f1f1f1f1f1f1f1f1f1f (verdicts#fidelity)"
    )


def test_figures_that_are_not_known_are_not_invented() -> None:
    one = incident(effect=None, low=None, high=None, threshold=None, n=5, verdict_id=None)
    shown = text(delivery(Event(kind="fired", incident=one)).message)
    assert "  figures: n=5\n" in shown
    assert "  replay: weighmaster probe acme/a --kind speed\n" in shown


def test_the_command_computes_again_only_what_rests_on_its_own_runs() -> None:
    """Oracle: how far detectors look back, by themselves; `audit --from` refuses those, and the joint verdict."""
    kinds: Any = catalogues().detectors
    told = {kind: command(incident(detector=kind)) for kind in (*kinds, "fidelity")}
    again = {kind for kind, said in told.items() if said == "weighmaster audit --from v1"}
    assert again == {kind for kind, one in kinds.items() if not one.looks_back}


@pytest.mark.parametrize(
    ("detector", "said"),
    [
        ("fidelity", "weighmaster audit acme/a"),
        ("speed_shift", "weighmaster probe acme/a --kind speed"),
        ("parameters", "weighmaster probe acme/a --kind parameters"),
        ("shape", "weighmaster status"),
    ],
)
def test_else_it_asks_again(detector: str, said: str) -> None:
    assert command(incident(detector=detector)) == said
