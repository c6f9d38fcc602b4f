"""Changes at bad moments, and our own bugs, while a configuration file is followed.

Oracle: what the file says in the end, and that whoever follows it still does.
"""

import asyncio
import time
from pathlib import Path

import pytest

from jobs import reload
from jobs.clock import SystemClock
from jobs.reload import Following, with_each
from jobs.settings import load_config, load_known
from monitor.config_types import Config
from tests.jobs.test_reload import BAD, ONE, TWO, followed, names, off, write

THREE = TWO.replace("a/y", "a/z")
WITH_KEY = ONE.replace("model: m", "model: m, api_key: '${file:key}'")


def interrupted(monkeypatch: pytest.MonkeyPatch, path: Path, text: str) -> None:
    """Somebody writes `text` to `path` just after it was read next."""
    real, todo = load_known, [text]

    def load(*given: object, **named: object) -> Config:
        found = real(*given, **named)  # type: ignore[arg-type]
        while todo:
            write(path, todo.pop())
        return found

    monkeypatch.setattr(reload, "load_known", load)


def test_what_is_written_while_the_file_is_read_is_taken_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weighmaster.yaml"
    file = followed(path)
    write(path, TWO)
    file.look()
    interrupted(monkeypatch, path, THREE)
    assert file.look()
    assert names(file.config) == ["a/x", "a/y"]
    assert [file.look(), file.look()] == [False, True]
    assert names(file.config) == ["a/x", "a/z"]


def test_what_is_written_while_it_is_read_first_is_taken_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weighmaster.yaml"
    interrupted(monkeypatch, path, TWO)
    file = followed(path)
    assert [file.look(), file.look()] == [False, True]
    assert names(file.config) == ["a/x", "a/y"]


def test_what_is_written_before_it_is_followed_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "weighmaster.yaml"
    path.write_text(ONE, encoding="utf-8")
    config = load_config(path, {}, detectors=False)
    write(path, BAD)
    file = Following(path, config, {}, SystemClock(), detectors=False)
    assert names(file.config) == ["a/x"]
    assert "modle" in str(file.invalid)
    write(path, TWO)
    assert [file.look(), file.look()] == [False, True]
    assert names(file.config) == ["a/x", "a/y"]


def test_a_secret_file_that_is_new_and_changes_while_it_is_read_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, key = tmp_path / "weighmaster.yaml", tmp_path / "key"
    key.write_text("first-key", encoding="utf-8")
    key.chmod(0o600)
    file = followed(path)
    write(path, WITH_KEY)
    file.look()
    interrupted(monkeypatch, key, "other-key")
    found = [file.look() for _ in range(4)]
    assert found.count(True) >= 1
    assert off(file) is None
    secret = file.config.endpoints[0].api_key
    assert secret is not None
    assert secret.get_secret_value() == "other-key"


@pytest.mark.parametrize(
    "text",
    [ONE.replace("model: m", 'model: m, api_key: "${file:a\\0b}"'), "a: " + "[" * 20_000, "a: &a [*a]\n" + ONE],
    ids=["null byte", "deep", "in itself"],
)
def test_odd_files_are_bad_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "weighmaster.yaml"
    file = followed(path)
    write(path, text)
    for _ in range(3):
        file.look()
    assert file.invalid is not None or off(file) is not None
    write(path, TWO)
    assert [file.look(), file.look()] == [False, True]
    assert (names(file.config), file.invalid) == (["a/x", "a/y"], None)


class Broken(Following):
    """Has a bug at the first looks."""

    n = 3

    def look(self) -> bool:
        if self.n:
            self.n -= 1
            raise RuntimeError("bug")
        return super().look()


def broken(path: Path) -> Broken:
    path.write_text(ONE, encoding="utf-8")
    return Broken(path, load_config(path, {}, detectors=False), {}, SystemClock(), detectors=False)


async def test_a_bug_of_ours_ends_no_watching(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, stop, seen = tmp_path / "weighmaster.yaml", asyncio.Event(), list[list[str]]()
    file = broken(path)

    async def work(config: Config, turn: asyncio.Event) -> None:
        seen.append(names(config))
        write(path, TWO) if len(seen) == 1 else stop.set()
        await turn.wait()

    async with asyncio.timeout(20):
        await with_each(file, stop, work, every_s=0.01)
    assert seen == [["a/x"], ["a/x", "a/y"]]
    assert caplog.text.count("our bug") == 3


def test_a_bug_of_ours_ends_no_thread(tmp_path: Path) -> None:
    path, deadline = tmp_path / "weighmaster.yaml", time.monotonic() + 20
    file = broken(path)
    with file.followed(every_s=0.01):
        write(path, TWO)
        while len(file.config.endpoints) != 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert names(file.config) == ["a/x", "a/y"]
