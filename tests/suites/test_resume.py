"""A run that is killed goes on where it stopped; answers of another endpoint or other parameters are never used."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jobs.suite_store import SuiteStore, key_name
from tests.suites.running import KEYS, cases, document, number, weighmaster, write_config
from tests.suites.server import serving
from tests.suites.test_run import arguments

N = 60


def test_a_killed_run_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """kill -9 in the middle: every answer that was kept is asked once in all, the others until they are kept."""
    suite = tmp_path / "words.jsonl"
    suite.write_text(cases(N))
    with serving(lambda body: str(number(body)), delay_s=0.03) as server:
        config = write_config(tmp_path, server.url)
        command = [sys.executable, "-m", "jobs.cli", *arguments(suite, config, "--json")]
        environ = {**os.environ, key_name("acme"): KEYS["acme"]}
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while len(server.posted) < N // 3 and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.2)  # what was on its way is counted by the server now
        asked = Counter(map(number, server.posted))
        with SuiteStore.opened(tmp_path / "customers", "acme", KEYS["acme"]) as store:
            kept = {int(one["text"]) for one in store.of("answer")}
        assert N // 6 < len(kept) < N
        result = weighmaster(*arguments(suite, config, "--json"))
        again = Counter(map(number, server.posted))
    found = document(result)
    assert found["rate"]["k"] == found["rate"]["n"] == N
    assert set(again) == set(range(N))
    assert all(again[one] == 1 for one in kept)
    assert sum(again.values()) == N + len(set(asked) - kept)


def test_half_a_line_is_cut_off(tmp_path: Path) -> None:
    with SuiteStore.opened(tmp_path, "acme", KEYS["acme"]) as store:
        store.append([{"kind": "x", "n": 1}])
    path = tmp_path / "acme.suites"
    path.write_bytes(path.read_bytes() + b"gAAAA-half")
    with SuiteStore.opened(tmp_path, "acme", KEYS["acme"]) as store:
        store.append([{"kind": "x", "n": 2}])
    with SuiteStore.opened(tmp_path, "acme", KEYS["acme"]) as store:
        assert [one["n"] for one in store.of("x")] == [1, 2]


def test_an_unfinished_run_is_no_ones_but_its_own(tmp_path: Path) -> None:
    """Stopped after a few answers: others start from nothing: another endpoint, address, temperature."""
    suite = tmp_path / "words.jsonl"
    suite.write_text(cases(20))
    with serving(lambda body: str(number(body))) as one, serving(lambda body: str(number(body))) as two:
        config = write_config(tmp_path, one.url, two.url)
        weighmaster(*arguments(suite, config))
        _cut(tmp_path / "customers", answers=5)
        one.posted.clear()
        weighmaster(*arguments(suite, config, endpoint="acme/1"))
        assert (len(one.posted), len(two.posted)) == (0, 20)
        weighmaster(*arguments(suite, config, "--temperature", "0.5"))
        assert len(one.posted) == 20
        weighmaster(*arguments(suite, config, "--repeats", "2"))
        assert len(one.posted) == 60
        weighmaster(*arguments(suite, write_config(tmp_path, two.url)))
        assert len(two.posted) == 40
        # The run itself goes on: 5 of its 20 answers are there. The next one is another.
        config = write_config(tmp_path, one.url, two.url)
        weighmaster(*arguments(suite, config))
        assert len(one.posted) == 75
        weighmaster(*arguments(suite, config))
        assert len(one.posted) == 95


def test_what_was_begun_longer_than_a_day_ago_is_let_be(tmp_path: Path) -> None:
    suite = tmp_path / "words.jsonl"
    suite.write_text(cases(12))
    with serving(lambda body: str(number(body))) as server:
        config = write_config(tmp_path, server.url)
        for days, asked in ((0.9, 7), (1.1, 12)):
            weighmaster(*arguments(suite, config, "--fresh"))
            _cut(tmp_path / "customers", answers=5, days=days)
            server.posted.clear()
            weighmaster(*arguments(suite, config))
            assert len(server.posted) == asked


def _cut(folder: Path, *, answers: int, days: float = 0) -> None:
    """Leave `answers` of a finished run, and no end: as if it had been killed then, some days ago."""
    begun = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    with SuiteStore.opened(folder, "acme", KEYS["acme"]) as store:
        run = store.of("run")[-1] | {"started_at": begun}
        own = [one for one in store.of("answer") if one["run"] == run["run"]]
        kept = [*store.of("suite"), run, *own[:answers]]
    (folder / "acme.suites").unlink()
    with SuiteStore.opened(folder, "acme", KEYS["acme"]) as store:
        store.append(kept)
