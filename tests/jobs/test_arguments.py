"""Arguments that cannot be right are refused at once, and work that goes on says so. Oracle: the exit codes promised.

No command here gets as far as weights: the folder that it is given does not exist.
"""

import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jobs.capture_bytes import read_bytes
from jobs.cli import build
from jobs.out_file import require_writable
from jobs.still_working import telling
from monitor.errors import UsageError


@pytest.mark.parametrize("command", [("replay", "x.sse"), ("store",), ("dashboard",)])
@pytest.mark.parametrize("port", ["99999", "-1"])
def test_no_such_port(command: tuple[str, ...], port: str) -> None:
    done = CliRunner().invoke(build(), [*command, "--port", port])
    assert done.exit_code == 2
    assert "'--port'" in done.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("pack", "-o", "{tmp}/none/x"), "there is no folder"),
        (("pack", "-o", "{tmp}"), "is a folder"),
        (("pack", "-o", "{tmp}/x", "--family", "klingon"), "'klingon' is not one of"),
        (("pack", "-o", "{tmp}/x", "--sign", "{tmp}/nokey"), "reference pack-key"),
        (("pack", "-o", "{tmp}/x", "--variants", "nonsense"), "'nonsense' is neither"),
        (("border", "{tmp}/none", "-o", "{tmp}/none/x"), "there is no folder"),
        (("border", "{tmp}/none", "-o", "{tmp}/x", "--variants", "nonsense"), "'nonsense' is neither"),
        (("border", "{tmp}/none", "-o", "{tmp}/x", "--holds", "kv-4"), "more than weights"),
        (("border", "{tmp}/none", "-o", "{tmp}/x", "--variants", ","), "no variant to catch"),
        (("score", "{tmp}/none"), "cannot be read"),
        (("score", "{tmp}/empty"), "is empty"),
        (("score", "{tmp}/odd"), "line 2: is not JSON; needs prompt_ids"),
        (("score", "{tmp}/shape"), "line 1: needs prompt_ids"),
    ],
)
def test_mistakes_cost_no_weights(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"\n")
    (tmp_path / "odd").write_text('{"prompt_ids": [1], "completion_ids": [2]}\nnope', "utf-8")
    (tmp_path / "shape").write_text('{"prompt_ids": ["a"], "completion_ids": [2]}', "utf-8")
    before = sorted(tmp_path.iterdir())
    given = [one.format(tmp=tmp_path) for one in options]
    more = [] if options[0] == "border" else ["--folder", str(tmp_path / "none")]
    with pytest.raises(UsageError, match=words):
        CliRunner().invoke(build(), ["reference", *given, *more], catch_exceptions=False)
    assert sorted(tmp_path.iterdir()) == before


def test_a_place_to_write_is_left_alone(tmp_path: Path) -> None:
    require_writable(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_pipes_and_folders_are_no_captures(tmp_path: Path) -> None:
    """Nobody writes to the pipe: to open it would wait forever."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(UsageError, match="not a regular file"):
            read_bytes(path)


def test_long_work_says_that_it_goes_on() -> None:
    """However slow the machine, more than one line comes of a step that is waited for until they came."""
    lines: list[str] = []
    with telling(lines.append, every_s=0.01) as report:
        report("reading")
        while len(lines) < 4:
            time.sleep(0.01)
    n_lines = len(lines)
    assert "reading" in lines
    assert lines[-1].startswith("  reading: ")
    time.sleep(0.05)
    assert len(lines) == n_lines


@pytest.mark.parametrize("money", ["0", "-1", "nan", "inf"])
def test_a_budget_that_buys_nothing_is_refused(money: str) -> None:
    with pytest.raises(UsageError, match="--budget-usd must be above 0"):
        CliRunner().invoke(build(), ["audit", "a/b", "--budget-usd", money], catch_exceptions=False)
