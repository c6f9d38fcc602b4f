"""kill -9 between a decision and its delivery loses nothing and doubles no incident. A real process, a real store."""

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from monitor.codec import encode
from monitor.ports import Entry
from storage.alert_reads import PLANS
from storage.api import app
from storage.store import DuckStore
from tests.alerts.receiver import Receiver, receiver
from tests.alerts.service import verdict
from tests.dashboard.store import served

YAML = """
endpoints: [{name: acme/a, base_url: "http://h/v1", model: m}]
alerts:
  group_wait: 1s
  routes: {hook: {kind: webhook, url: "URL/hook", secret: "${KEY}", allow_private: true}}
"""


def run(folder: Path, store: str, *die: str) -> int:
    command = [sys.executable, "-m", "tests.alerts.dying_notifier", "--folder", str(folder), "--store", store, *die]
    return subprocess.run(command, check=False, timeout=60).returncode


def told(hook: Receiver) -> list[tuple[str, str]]:
    """(idempotency key, kind) of all that came."""
    bodies = [orjson.loads(one.body) for one in hook.got]
    keys = [one.headers["idempotency-key"] for one in hook.got]
    assert keys == [body["id"] for body in bodies]
    return [(key, event["kind"]) for key, body in zip(keys, bodies, strict=True) for event in body["events"]]


@pytest.mark.parametrize(
    ("die", "n_before", "n_copies"),
    [("append:2", 0, 1), ("push:4", 0, 1), ("send:1", 1, 2)],
    ids=["decided", "in the store", "sent"],
)
def test_kill_9(tmp_path: Path, die: str, n_before: int, n_copies: int) -> None:
    store = DuckStore(tmp_path / "store.duckdb")
    seen = verdict("acme/a", "fidelity", datetime.now(UTC) - timedelta(minutes=1), "fail", "weights")
    store.ingest("judge", [Entry(1, "verdict", encode(seen))])
    with receiver() as hook, served(app(store, more=PLANS)) as url:
        (tmp_path / "weighmaster.yaml").write_text(YAML.replace("URL", hook.url))
        assert run(tmp_path, url, "--die", die) == -signal.SIGKILL
        assert len(told(hook)) == n_before
        assert run(tmp_path, url) == 0
        events = told(hook)
    assert len(events) == n_copies
    assert len(set(events)) == 1
    assert events[0][1] == "fired"
    counts = store.counts()
    assert (counts["incidents"], counts["deliveries"], counts["rejected"]) == (1, 1, 0)
    store.close()
