"""``weighmaster tools``: from kept evidence to the summary. Oracle: answers made by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from jobs.cli import build
from jobs.evidence_folder import keep_probed
from jobs.pipeline import Probed
from monitor.results import RunRecord
from monitor.tools.layers import Layer, Symptom
from monitor.tools.shown import MAX_BYTES, bytes_of
from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from tests.detectors.made import endpoint
from tests.tools.made import call, called, captured, case, frame, function, said, streamed
from tests.tools.made_evidence import RUN

ANSWERS = [
    (streamed(called(call())), "a"), (streamed(called(call(arguments="{}"))), "b"),
    (streamed([frame({"tool_calls": [{**call(), "index": None}]}), frame({}, "tool_calls")]), "c"),
    (streamed(said("Hello.")), "d"),
]  # fmt: skip


def keep(folder: Path, answers: list[tuple[bytes, str]]) -> None:
    captures = tuple(captured(body, case(case_id=name)) for body, name in answers)
    exchanges = tuple(decode(one) for one in captures)
    named = tuple(replace(one, exchange_id=f"r1-{at}", run_id="r1") for at, one in enumerate(exchanges))
    record = RunRecord(run=RUN, exchanges=named, observations=())
    keep_probed(folder, Probed(endpoint=endpoint(), records=(record,), captures=(captures,)))


def told(folder: Path, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(build(), ["tools", str(folder), *options])
    return result.exit_code, result.stdout


def test_the_summary_names_layers_and_shows_bytes(tmp_path: Path) -> None:
    keep(tmp_path, ANSWERS)
    code, text = told(tmp_path, "--json")
    assert code == 1
    (document,) = json.loads(text)["endpoints"]
    counts = ("success_count", "finish_tool_calls", "successful_tool_call_count")
    assert [document[name] for name in counts] == [4, 3, 2]
    failures: list[dict[str, Any]] = document["failures"]
    assert [(one["case"], one["layer"], one["name"]) for one in failures] == [
        ("b", "schema", "schema_required"), ("c", "protocol", "missing_index")]  # fmt: skip
    assert '"arguments":"{}"' in failures[0]["bytes"]
    assert '"index":null' in failures[1]["bytes"]
    row = next(one for one in document["metrics"] if one["metric"] == "tool_schema_accuracy")
    assert (row["k"], row["n"]) == (2, 3)
    code, table = told(tmp_path)
    assert code == 1
    assert "tool_schema_accuracy" in table
    assert "protocol: missing_index" in table
    assert "minimax-success: Query-Success-Rate" in table


def test_a_note_is_no_fault(tmp_path: Path) -> None:
    """A mistake of the suite stands in the list, and the code says that no answer was wrong."""
    asked = case(function("get_weather", {"type": "int"}))
    captures = (captured(streamed(called(call())), asked),)
    exchanges = tuple(replace(decode(one), exchange_id="r1-0", run_id="r1") for one in captures)
    record = RunRecord(run=RUN, exchanges=exchanges, observations=())
    keep_probed(tmp_path, Probed(endpoint=endpoint(), records=(record,), captures=(captures,)))
    code, text = told(tmp_path, "--json")
    (failure,) = json.loads(text)["endpoints"][0]["failures"]
    assert (code, failure["name"], failure["fault"]) == (0, "schema_unusable", False)


def test_clean_answers_end_with_0_and_none_with_3(tmp_path: Path) -> None:
    keep(tmp_path / "good", ANSWERS[:1])
    assert told(tmp_path / "good")[0] == 0
    keep(tmp_path / "none", [(b"", "a")])
    assert told(tmp_path / "none")[0] == 3


@pytest.mark.parametrize(
    ("layer", "body", "shown"),
    [("transport", b"x" * 900 + b"end", b"end"),
     ("parser", b"a\n" + b"y" * 900 + b"<tool_call>{" + b"z" * 900, b"<tool_call>"),
     ("protocol", b'{"a":1}\n{"finish_reason": "stop"}\n', b"stop"), ("schema", b"nothing of it", b"nothing of it")],
)  # fmt: skip
def test_the_bytes_are_few_and_the_right_ones(layer: Layer, body: bytes, shown: bytes) -> None:
    found = bytes_of(Capture(reads=(Read(0, body),)), Symptom(layer=layer, name="x"))
    assert shown in found
    assert len(found) <= MAX_BYTES
