"""What ``decode --explain`` tells. Oracles: the record of the same capture, and captures timed by hand."""

import base64
import io
import pathlib
from typing import Any

import orjson
import pytest

from jobs.decode import run
from jobs.explain import document, lines, read
from monitor.types import Capture, Exchange, Read
from monitor.wire.annotate import Note
from monitor.wire.dispatch import decode
from monitor.wire.files import dump, load
from monitor.wire.waterfall import Phase, waterfall
from tests.wire.golden import FOLDER, Case, cases


def events_of(capture: Capture) -> tuple[Note, ...]:
    return read(capture)[1]


def joined(events: tuple[Note, ...], channel: str) -> str:
    return "".join(note.said.get(channel, "") for note in events)


@pytest.mark.parametrize("case", cases())
def test_the_pieces_make_up_the_record(case: Case) -> None:
    """Text that needs the whole answer to be told apart (thinking tags, snapshots) is compared without channels."""
    capture = load(case.data, case.format)
    exchange, events = read(capture)
    assert exchange == decode(capture)
    choice = exchange.choice
    if not any(flag.startswith(("think", "reasoning_field:think", "full_message")) for flag in exchange.flags):
        assert (joined(events, "content"), joined(events, "reasoning")) == (choice.content, choice.reasoning)
    pieces = [piece for note in events for piece in note.said.get("calls", [])]
    for number, call in enumerate(choice.tool_calls):
        told = "".join(piece.get("arguments", "") for piece in pieces if piece["call"] == number)
        assert call.arguments in {told, "{}" if not told.strip() else told}
    assert sum(note.kind == "token" for note in events) == (exchange.token_events or 0)
    assert {flag for note in events for flag in note.flags} <= set(exchange.flags) | {"legacy_shape"}
    if exchange.events is not None:
        assert len(events) == exchange.events


@pytest.mark.parametrize("case", cases())
def test_every_capture_can_be_explained_in_printable_ascii(case: Case) -> None:
    capture = load(case.data, case.format)
    exchange, events = read(capture)
    for line in lines(exchange, events):
        assert line.isascii()
        assert not line or line.isprintable()
    assert orjson.loads(orjson.dumps(document(exchange, events)))["waterfall"]


def kinds(name: str, form: str) -> list[tuple[float | None, str]]:
    return [(note.at_ms, note.kind) for note in events_of(load((FOLDER / name).read_bytes(), form))]


def test_kinds_and_times() -> None:
    assert kinds("TM-04.timed", "timed") == [
        (100, "token"), (200, "token"), (300, "token"), (900, "finish"), (950, "usage"), (1000, "done"),
    ]  # fmt: skip
    assert kinds("FR-01.sse", "sse")[:2] == [(None, "ignored"), (None, "silent")]
    assert kinds("TE-03.sse", "sse")[-1] == (None, "error")
    assert kinds("FR-12.with_a_cut_tail.reads", "reads")[-1] == (None, "unreadable")
    assert kinds("TR-09.A.http", "http") == [(None, "whole")]
    assert kinds("TR-04.sign_in.http", "http") == []
    assert events_of(Capture(end="connect_error")) == ()


def test_what_an_event_said() -> None:
    calls = events_of(load((FOLDER / "TM-06.timed").read_bytes(), "timed"))
    assert [note.said.get("calls") for note in calls[:3]] == [
        None,
        [{"call": 0, "id": "call_1", "name": "lookup"}],
        [{"call": 0, "arguments": '{"q":'}],
    ]
    two = events_of(load((FOLDER / "DL-08.sse").read_bytes(), "sse"))
    assert [note.said for note in two if note.kind == "token"] == [
        {"content_1": "B1"},
        {"content": "A1"},
        {"content": "A2"},
    ]
    error = events_of(load((FOLDER / "TE-02.sse").read_bytes(), "sse"))[1]
    assert (error.kind, error.said) == ("error", {"error": "worker limit 8/8"})


def test_the_waterfall_of_a_cold_connection() -> None:
    exchange = Exchange(
        outcome="ok", dns_ms=20, connect_ms=170, tls_ms=350, sent_ms=1, first_byte_ms=290, first_event_ms=300,
        ttft_ms=310, ttfo_ms=None, last_token_ms=400, done_ms=410, eof_ms=411,
    )  # fmt: skip
    assert waterfall(exchange) == (
        Phase("dns", -540, -520), Phase("connect", -520, -350), Phase("tls", -350, 0), Phase("sent", 0, 1),
        Phase("first_byte", 1, 290), Phase("first_event", 300, 300), Phase("first_token", 310, 310),
        Phase("first_visible", None, None), Phase("last_token", 310, 400), Phase("done", 410, 410),
        Phase("eof", 411, 411),
    )  # fmt: skip
    rows = [line for line in lines(exchange, ()) if "#" in line or "|" in line]
    assert rows[0].split()[:3] == ["dns", "-520.000", "20.000"]
    bars = [len(line) - len(line.lstrip()) for line in (row[39:] for row in rows[:4])]
    assert bars == sorted(bars), "phases follow one another from left to right"


HOSTILE = "\x1b]0;owned\x07\u202e\x9b2J"


@pytest.mark.parametrize("form", ["sse", "http", "reads", "timed", "capture", "har", "curl"])
def test_every_format(form: str, tmp_path: pathlib.Path) -> None:
    choice = {"index": 0, "delta": {"content": HOSTILE}, "finish_reason": "stop"}
    event = b"event: \x1b[1m\ndata: " + orjson.dumps({"choices": [choice]}) + b"\n\n"
    text = event.decode()
    forms: dict[str, Any] = {
        "sse": event,
        "http": b"HTTP/1.1 200 OK\r\n\r\n" + event,
        "reads": orjson.dumps({"b64": base64.b64encode(event).decode()}),
        "timed": orjson.dumps({"at_ms": 5, "send": text}),
        "capture": dump(Capture(status=200, reads=(Read(5, event),))),
        "har": orjson.dumps({"log": {"entries": [{"response": {"status": 200, "content": {"text": text}}}]}}),
        "curl": b"HTTP/2 200\r\n\r\n" + event,
    }
    path = tmp_path / f"x.{form}"
    path.write_bytes(forms[form])
    out = io.StringIO()
    assert run(path, form, as_json=False, out=out, explain=True) == 0
    assert out.getvalue().isascii()
    assert all(line.isprintable() for line in out.getvalue().splitlines())
    assert r"\u001b]0;owned" in out.getvalue()
    out = io.StringIO()
    assert run(path, form, as_json=True, out=out, explain=True) == 0
    (told,) = orjson.loads(out.getvalue())["events"]
    assert (told["kind"], told["name"], told["content"], told["finish"]) == ("token", "\x1b[1m", HOSTILE, "stop")


def test_without_explain_events_is_their_number() -> None:
    out = io.StringIO()
    run(FOLDER / "TM-04.timed", "timed", as_json=True, out=out)
    assert orjson.loads(out.getvalue())["events"] == 6
