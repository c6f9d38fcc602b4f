"""One file per rule, with the messages a user gets. Oracle: the .txt files, written and read by people."""

from pathlib import Path

import pytest

from monitor.config import load
from monitor.errors import ConfigError
from tests.config.catalogue import CATALOGUES

FOLDER = Path(__file__).with_name("invalid")
FILES = sorted(FOLDER.glob("*.yaml"))
ENVIRON = {"KEY": "sk-secret", "EMPTY": " ", "TWO_LINES": "sk-secret\nsecond"}


def mistakes(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(path.read_text(encoding="utf-8"), ENVIRON, CATALOGUES)
    return caught.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages(path: Path) -> None:
    assert f"{mistakes(path)}\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_message_shows_a_secret(path: Path) -> None:
    error = mistakes(path)
    assert "sk-secret" not in f"{error} {error!r} {error.problems!r}"
    assert error.__cause__ is None


def test_five_mistakes_are_five_problems() -> None:
    problems = mistakes(FOLDER / "five_mistakes.yaml").problems
    assert [problem.path for problem in problems] == [
        "endpoints[0].model",
        "endpoints[0].api_key",
        "endpoints[0].reference",
        "endpoints[0].prise_in_usd",
        "probes[0].every",
    ]
    assert problems[0].suggestion == 'write it in quotes: "4.10"'
    assert problems[3].suggestion == 'did you mean "price_in_usd"?'


def test_every_expectation_has_its_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in FILES}
