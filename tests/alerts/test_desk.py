"""The commands on alerts, over a real store on a real socket. Oracle: what was put into the store."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main
from monitor.alerting.nouns import Silence
from monitor.alerting.outbox import failed
from monitor.codec import encode
from monitor.incident import Incident
from monitor.ports import Entry
from storage.alert_reads import PLANS
from storage.api import app
from storage.store import DuckStore
from tests.alerts.receiver import receiver
from tests.alerts.test_routes import delivery, incident
from tests.dashboard.store import served
from tests.storage.factories import endpoint

YAML = """
store: {listen: 127.0.0.1:PORT}
endpoints: [{name: acme/a, base_url: "http://h/v1", model: m}]
alerts:
  routes: {hook: {kind: webhook, url: "HOOK", secret: "${DESK_KEY}", allow_private: true}}
  silences: [{match: acme/*, until: 2099-01-01T00:00:00Z, reason: for ever}]
"""


class Desk:
    def __init__(self, store: DuckStore, folder: Path) -> None:
        self.store, self.folder = store, folder

    def put(self, kind: str, *nouns: object) -> None:
        writer = f"test-{kind}"
        first = self.store.mark(writer) + 1
        self.store.ingest(writer, [Entry(first + i, kind, encode(noun)) for i, noun in enumerate(nouns)])

    def write(self, url: str, hook: str = "http://127.0.0.1:1/") -> None:
        text = YAML.replace("PORT", url.rpartition(":")[2]).replace("HOOK", hook)
        (self.folder / "weighmaster.yaml").write_text(text)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    store = DuckStore(tmp_path / "store.duckdb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DESK_KEY", "k")
    monkeypatch.setenv("COLUMNS", "200")
    made = Desk(store, tmp_path)
    with served(app(store, more=PLANS)) as url:
        made.write(url)
        yield made
    store.close()


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["weighmaster", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_nothing_is_no_incident(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "alerts") == 0
    assert "no incident" in capsys.readouterr().out


def test_open_ones_come_first_with_their_state(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at = datetime(2026, 11, 2, tzinfo=UTC)
    told = incident(incident_id="aa" * 10, announced_at=at)
    muted = incident(incident_id="bb" * 10, endpoint="acme/b", muted="maintenance: upgrade")
    over = incident(incident_id="cc" * 10, endpoint="acme/c", opened_at=at + timedelta(days=1), closed_at=at)
    desk.put("incident", over, told, muted)
    desk.put("delivery", failed(delivery(), "answered HTTP 503", at))
    assert run(monkeypatch, "alerts") == 1
    shown = capsys.readouterr().out
    assert shown.index("acme/a") < shown.index("acme/c")
    assert "open, maintenance: upgrade" in shown
    assert "answered HTTP 503" in shown
    assert run(monkeypatch, "alerts", "--json") == 1
    found = document(capsys)
    assert [one["incident_id"][:2] for one in found["incidents"]] == ["bb", "aa", "cc"]
    assert found["incidents"][1]["command"] == "weighmaster audit acme/a"
    assert found["undelivered"][0]["attempts"] == 1


def test_an_acknowledgement_reaches_the_store(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.put("incident", incident(incident_id="aa" * 10), incident(incident_id="ab" * 10, endpoint="acme/b"))
    assert run(monkeypatch, "alerts", "ack", "aaa", "--by", "ann", "--note", "on it") == 0
    assert "aa" * 10 in capsys.readouterr().out
    assert run(monkeypatch, "alerts", "--json") == 1
    acks = {one["incident_id"]: one["ack"] for one in document(capsys)["incidents"]}
    assert (acks["aa" * 10]["by"], acks["aa" * 10]["note"], acks["ab" * 10]) == ("ann", "on it", None)
    assert run(monkeypatch, "alerts", "ack", "a") == 2
    assert "2 ids of open incidents begin with 'a'" in capsys.readouterr().err


def test_a_silence_begins_is_listed_and_ends(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "silence", "add", "acme/*", "--for", "2h", "--reason", "upgrade", "--topic", "speed") == 0
    made = capsys.readouterr().out.split()[1]
    assert run(monkeypatch, "silence", "list", "--json") == 0
    own, added = document(capsys)["silences"]
    assert (own["silence_id"], own["reason"]) == ("config-0", "for ever")
    wanted = {"silence_id": made, "match": "acme/*", "topic": "speed", "reason": "upgrade"}
    assert {key: added[key] for key in wanted} == wanted
    length = datetime.fromisoformat(added["until"]) - datetime.fromisoformat(added["made_at"])
    assert length == timedelta(hours=2)
    assert run(monkeypatch, "silence", "end", made) == 0
    capsys.readouterr()
    assert run(monkeypatch, "silence", "list") == 0
    shown = capsys.readouterr().out
    assert made not in shown
    assert run(monkeypatch, "silence", "end", "config-0") == 2


def test_a_silence_that_matches_nothing_is_taken_and_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.put("endpoint", endpoint("acme/a"))
    for match, told in (("acme/*", ""), ("acme", ""), ("agent berlin", ""), ("acm", "no endpoint or provider")):
        assert run(monkeypatch, "silence", "add", match, "--for", "2h", "--reason", "r") == 0
        assert told in capsys.readouterr().err if told else not capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("silence", "add", "x", "--for", "2", "--reason", "r"), "write a number and a unit"),
        (("silence", "add", "x", "--for", "2h", "--reason", "r", "--topic", "sped"), "unknown topic 'sped'"),
        (("silence", "add", " ", "--for", "2h", "--reason", "r"), "the pattern is empty"),
        (("silence", "add", "x", "--for", "2h", "--reason", ""), "--reason is empty"),
        (("silence", "end", "nope"), "0 ids of silences begin with 'nope'"),
        (("alerts", "test", "nope"), "no route 'nope' in the configuration; known: hook"),
    ],
)
def test_mistakes_are_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...],
    message: str,
) -> None:  # fmt: skip
    assert run(monkeypatch, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_route_can_be_tried(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with receiver() as hook:
        desk.write("http://127.0.0.1:1", hook.url)
        assert run(monkeypatch, "alerts", "test", "hook") == 0
        body = json.loads(hook.got[0].body)
        assert body["events"][0]["reason"] == "a test of this route; nothing is wrong"
        hook.status = 500
        assert run(monkeypatch, "alerts", "test", "hook") == 3
    assert "hook: answered HTTP 500" in capsys.readouterr().err


def test_nouns_of_alerting_are_kept_as_they_are(desk: Desk) -> None:
    """What a newer row replaces is gone; what is none is set aside."""
    until = datetime(2026, 12, 1, tzinfo=UTC)
    one = Silence(silence_id="s", match="a", until=until, reason="r", by="b", made_at=until - timedelta(days=1))
    desk.put("silence", one, one)
    desk.put("delivery", delivery(), failed(delivery(), "x", until))
    desk.put("alert_track", {"track_id": 5})
    counts = desk.store.counts()
    assert (counts["silences"], counts["deliveries"], counts["alert_tracks"], counts["rejected"]) == (1, 1, 0, 1)
    assert isinstance(incident(), Incident)
