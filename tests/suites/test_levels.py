"""`suite generate`: the hardest level that golden passes at 60 to 95%, from a golden that copies short texts only."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

import jobs.suite_levels
from jobs.suite_store import new_key
from monitor.errors import UsageError
from monitor.suites.reading import read_suite
from monitor.types import Capture, Read, Request
from tests.suites.running import Golden, document, weighmaster, write_config


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


def test_what_was_measured_is_a_document(config: Path, tmp_path: Path) -> None:
    # Oracle: the suite that was written, and why nothing was.
    out = tmp_path / "generated.yaml"
    more = ("-c", str(config), "--out", str(out), "--n", "9", "--json")
    found = document(weighmaster("suite", "generate", "golden", *more, "--family", "copying"))
    assert found["suite"] == yaml.safe_load(out.read_text())
    assert [one["level"] for one in found["levels"]] == [1, 2, 3]
    low = 20 / (20 + 1.959964**2)  # Wilson's, where all are right
    assert found["levels"][0] == {"family": "copying", "level": 1, "k": 20, "n": 20, "low": pytest.approx(low),
                                  "high": 1.0, "fits": False}  # fmt: skip
    assert [(one["level"], one["k"]) for one in found["again"]] == [(2, 16)]
    out.unlink()
    found = document(weighmaster("suite", "generate", "golden", *more, "--family", "needle"))
    assert (found["suite"], found["out"], out.exists()) == (None, None, False)


class Scripted(Golden):
    """Copies the given share of each sample of 20 rightly: by number of blanks, one share a sample."""

    def __init__(self, shares: dict[int, tuple[float, ...]]) -> None:
        object.__setattr__(self, "_shares", shares)
        object.__setattr__(self, "_asked", Counter())

    async def send(self, request: Request) -> Capture:
        text = str(request.messages[-1]["content"]).removeprefix("Repeat: ")
        level, asked, shares = text.count(" "), self._asked, self._shares  # type: ignore[attr-defined]
        sample, at = divmod(asked[level], 20)
        asked[level] += 1
        said = text if at < 20 * shares.get(level, (0,) * 9)[sample] else "?"
        body = orjson.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]})
        return Capture(request=request, status=200, reads=(Read(2, body),), t0_ns=1, eof_ns=3,
                       headers=(("content-type", "application/json"),))  # fmt: skip


@pytest.mark.parametrize("case", [
    ({2: (0.9, 0.8), 4: (0.7, 0.65)}, [(2, 13)], 2),
    ({2: (0.9, 0.8), 4: (0.7, 1.0)}, [(2, 20), (1, 16)], 1),
    ({2: (0.9, 0.5), 4: (0.7, 0.3)}, [(2, 6), (1, 10)], None),
])  # fmt: skip
def test_a_level_is_taken_where_a_second_sample_fits_too_else_the_next_easier_one(
    case: tuple[dict[int, tuple[float, ...]], list[tuple[int, int]], int | None], config: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Oracle: the shares that golden was made to pass, in the first sample of each level and in the second."""
    shares, again, level = case

    @contextmanager
    def scorers(*_: Any) -> Iterator[dict[str, Any]]:
        yield {"golden": Scripted(shares)}

    monkeypatch.setattr(jobs.suite_levels, "scorers", scorers)
    out = tmp_path / "generated.yaml"
    result = weighmaster("suite", "generate", "golden", "-c", str(config), "--out", str(out), "--family", "copying",
                         "--json")  # fmt: skip
    found = document(result)
    assert [(one["level"], one["k"]) for one in found["again"]] == again
    assert [one["level"] for one in (found["suite"] or {"generated": []})["generated"]] == ([level] if level else [])
    assert result.exit_code == (0 if level else 3)
    assert ("the intervals of copying leave 60 to 95%" in result.stderr) == (level is not None)
    assert f"a second time, golden {again[0][1]} of 20 [" in result.stderr


def test_a_key_is_a_document_too() -> None:
    first, second = (document(weighmaster("suite", "key", "--json"))["key"] for _ in range(2))
    assert first != second
    assert len(new_key()) == len(first)


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
    assert ("`references` in the configuration (golden), not a folder" in str(result.exception)) == (name == "other")
