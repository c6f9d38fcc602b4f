"""Changes of the configuration file while processes run. Oracle: what the file says, and whom the processes ask."""

import asyncio
import logging
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.alive import life_of, showing_life
from jobs.clock import SystemClock
from jobs.reload import Following, with_each
from jobs.settings import load_config
from monitor.alerting.conditions import ConfigInvalid, Rule
from monitor.alerting.evaluate import signals
from monitor.alerting.facts import Facts, Mistake
from monitor.alerting.nouns import CONFIGURATION
from monitor.config_types import Config

ONE = "endpoints:\n  - {name: a/x, base_url: 'http://127.0.0.1:9/v1', model: m}\n"
TWO = ONE + "  - {name: a/y, base_url: 'http://127.0.0.1:9/v1', model: m}\n"
BAD = ONE.replace("model: m", "modle: m")


def followed(path: Path, text: str = ONE) -> Following:
    path.write_text(text, encoding="utf-8")
    return Following(path, load_config(path, {}, detectors=False), {}, SystemClock(), detectors=False)


def names(config: Config) -> list[str]:
    return [entry.endpoint.name for entry in config.endpoints]


def off(file: Following) -> str | None:
    return file.config.endpoints[0].disabled


def write(path: Path, text: str) -> None:
    """As editors do: another file in its place."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def test_a_change_counts_when_it_has_settled(tmp_path: Path) -> None:
    path = tmp_path / "weighmaster.yaml"
    file = followed(path)
    assert [file.look(), file.look()] == [False, False]
    write(path, TWO)
    assert [file.look(), file.look(), file.look()] == [False, True, False]
    assert names(file.config) == ["a/x", "a/y"]


def test_a_bad_file_changes_nothing_and_is_told_until_it_is_good(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "weighmaster.yaml"
    file = followed(path)
    write(path, BAD)
    with caplog.at_level(logging.INFO):
        assert [file.look(), file.look(), file.look()] == [False, False, False]
    said, since = file.said(), file.invalid_since
    assert "modle: unknown key (line 2)" in str(said["config_invalid"])
    assert "stays in force" in caplog.text
    assert (names(file.config), since is not None) == (["a/x"], True)
    path.unlink()
    assert [file.look(), file.look()] == [False, False]
    said = file.said()
    assert "no such file" in str(said["config_invalid"])
    assert said["config_invalid_since"] == since
    write(path, TWO)
    assert [file.look(), file.look()] == [False, True]
    assert file.said() == {"config_invalid": None, "config_invalid_since": None}
    assert names(file.config) == ["a/x", "a/y"]


def test_a_comment_is_no_change(tmp_path: Path) -> None:
    path = tmp_path / "weighmaster.yaml"
    file = followed(path)
    write(path, ONE + "# nothing\n")
    assert [file.look(), file.look()] == [False, False]


def test_what_a_process_cannot_change_stays_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "weighmaster.yaml"
    file = followed(path)
    write(path, TWO + "vantage: moon\nagent: {spool: elsewhere, concurrency: 7}\nstore: {snapshots: 2, path: x}\n")
    assert [file.look(), file.look()] == [False, True]
    assert (file.config.vantage, file.config.agent.concurrency) == ("local", 7)
    assert file.config.agent.spool == "weighmaster-data/spool.sqlite"
    assert (file.config.store.snapshots, file.config.store.path) == (2, "weighmaster-data/weighmaster.duckdb")
    assert "vantage, agent.spool, store.path changed" in caplog.text


def test_a_key_that_changes_in_its_file_is_taken(tmp_path: Path) -> None:
    path, key = tmp_path / "weighmaster.yaml", tmp_path / "key"
    file = followed(path, ONE.replace("model: m", "model: m, api_key: '${file:key}'"))
    assert off(file) == "the file key cannot be read"
    key.write_text("first-key", encoding="utf-8")
    key.chmod(0o600)
    assert [file.look(), file.look()] == [False, True]
    assert off(file) is None
    write(key, "other-key")
    assert [file.look(), file.look()] == [False, True]
    found = file.config.endpoints[0].api_key
    assert found is not None
    assert found.get_secret_value() == "other-key"


async def test_work_begins_anew_with_each_configuration(tmp_path: Path) -> None:
    path, stop, seen = tmp_path / "weighmaster.yaml", asyncio.Event(), list[list[str]]()
    file = followed(path)

    async def work(config: Config, turn: asyncio.Event) -> None:
        seen.append(names(config))
        write(path, TWO) if len(seen) == 1 else stop.set()
        await turn.wait()

    async with asyncio.timeout(20):
        await with_each(file, stop, work, every_s=0.01)
    assert seen == [["a/x"], ["a/x", "a/y"]]


def test_a_process_without_a_loop_follows_in_a_thread(tmp_path: Path) -> None:
    path, deadline = tmp_path / "weighmaster.yaml", time.monotonic() + 20
    file = followed(path)
    with file.followed(every_s=0.01):
        write(path, ONE + "store: {snapshots: 7}\n")
        while file.config.store.snapshots != 7 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert file.config.store.snapshots == 7


async def test_work_that_fails_is_not_waited_for(tmp_path: Path) -> None:
    async def work(_config: Config, _turn: asyncio.Event) -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  # raised above
        await with_each(followed(tmp_path / "weighmaster.yaml"), asyncio.Event(), work)


async def test_the_sign_of_life_tells_of_a_bad_file(tmp_path: Path) -> None:
    path, clock = tmp_path / "weighmaster.yaml", SystemClock()
    file = followed(path)
    write(path, BAD)
    file.look()
    file.look()
    async with showing_life(tmp_path / "spool", clock, more=file.said):
        while not (tmp_path / "spool.alive").exists():
            await asyncio.sleep(0.01)
        life = life_of(tmp_path / "spool", clock.now())
    assert life["alive"]
    assert "modle" in life["reason"]
    assert life["config_invalid"] == file.invalid


@pytest.mark.parametrize("wrong", [None, Mistake(since=datetime(2026, 1, 1, tzinfo=UTC), text="x is missing")])
def test_the_rule_sees_what_the_file_is_like(wrong: Mistake | None) -> None:
    condition = ConfigInvalid()
    rule = Rule(
        name="config-invalid", condition=condition, endpoints=frozenset(), fire=condition.fire,
        resolve=condition.resolve,
    )  # fmt: skip
    now = datetime(2026, 1, 2, tzinfo=UTC)
    (signal,) = signals([rule], Facts(now=now, endpoints={}, configuration=wrong))
    assert (signal.subject, signal.bad, signal.topic) == (CONFIGURATION, wrong is not None, "configuration")
    assert signal.since == (wrong.since if wrong else now)
