"""`suite generate`: the hardest level that golden passes at 60 to 95%, from a golden that copies short texts only."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

import jobs.suite_levels
from monitor.errors import UsageError
from monitor.suites.reading import read_suite
from monitor.types import Capture, Read, Request
from tests.suites.running import Golden, weighmaster, write_config


class Copies(Golden):
    """Copies texts rightly: all of 2 words, four of five of 4, nothing longer."""

    n_asked = 0

    async def send(self, request: Request) -> Capture:
        Copies.n_asked += 1
        text = str(request.messages[-1]["content"]).removeprefix("Repeat: ")
        fine = text.count(" ") <= 2 or (text.count(" ") == 4 and Copies.n_asked % 5)
        body = orjson.dumps({"choices": [{"message": {"content": text if fine else "?"}, "finish_reason": "stop"}]})
        return Capture(request=request, status=200, reads=(Read(2, body),), t0_ns=1, eof_ns=3,
                       headers=(("content-type", "application/json"),))  # fmt: skip


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    @contextmanager
    def scorers(_config: Any, _entries: Sequence[Any], _console: Any) -> Iterator[dict[str, Any]]:
        yield {"golden": Copies()}

    monkeypatch.setattr(jobs.suite_levels, "scorers", scorers)
    return write_config(tmp_path, "http://127.0.0.1:1/v1", reference=True)


def test_the_hardest_level_that_fits_is_written(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "generated.yaml"
    more = ("-c", str(config), "--out", str(out), "--n", "9", "--repeats", "2")
    result = weighmaster("suite", "generate", "golden", *more, "--family", "copying", "--family", "tables")
    assert result.exit_code == 0, result.output
    assert yaml.safe_load(out.read_text())["generated"] == [{"family": "copying", "n": 9, "level": 2, "repeats": 2}]
    assert read_suite(out.read_text(), str(out), name="x").generated[0].level == 2


def test_where_no_family_fits_nothing_is_written(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "generated.yaml"
    result = weighmaster("suite", "generate", "golden", "-c", str(config), "--out", str(out), "--family", "needle")
    assert result.exit_code == 3
    assert not out.exists()


@pytest.mark.parametrize(("name", "family"), [("other", "copying"), ("golden", "copyin")])
def test_what_there_is_not_is_refused_by_name(name: str, family: str, config: Path, tmp_path: Path) -> None:
    command = ("suite", "generate", name, "-c", str(config), "--out", str(tmp_path / "x"), "--family", family)
    result = weighmaster(*command)
    assert isinstance(result.exception, UsageError)
