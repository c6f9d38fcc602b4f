"""What `weighmaster check` says of the variants that an identification is to compare with."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jobs.cli import build
from jobs.identify_check import variant_problems
from jobs.settings import catalogues
from monitor.config import load

PACK = "references: {golden: {engine: pack, path: golden.wmpack}}\n"
ENDPOINT = "endpoints:\n  - {name: a/one, base_url: 'http://127.0.0.1:1/v1', model: m}\n"


def told(names: str, *, before: str = "") -> list[str]:
    text = f"{ENDPOINT}{before}detectors: {{identify: {{variants: [{names}]}}}}\n"
    return [str(one) for one in variant_problems(load(text, {}, catalogues(), source="test.yaml"))]


def test_names_of_the_bank_are_no_problem() -> None:
    assert told("Q4_0, fp8-channel, kv-4, rope-x0.1, no-system") == []


def test_another_name_is_refused_with_its_place_and_what_may_have_been_meant() -> None:
    (problem,) = told("Q5_O, Q4_0")
    assert problem.startswith("detectors.identify.variants: 'Q5_O' cannot be predicted; these can: ")
    assert problem.endswith('(did you mean "Q5_0"?)')


def test_what_logprobs_cannot_show_is_refused_too() -> None:
    # Oracle: docs/identify.md; the bank knows it, and yet nothing could be predicted.
    assert ["top-k-20" in one for one in told("top-k-20")] == [True]


@pytest.mark.parametrize(("before", "problems"), [("", 1), (PACK, 0)])
def test_parameters_written_out_are_what_only_a_pack_can_know(before: str, problems: int) -> None:
    assert len(told("'integer:bits=4,group=16'", before=before)) == problems


def test_the_command_says_so(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(f"{ENDPOINT}detectors: {{identify: {{variants: [nothing]}}}}\n")
    done = CliRunner().invoke(build(), ["check", "--config", str(path), "--json"])
    assert done.exit_code != 0  # 2 in the process, where `main` tells errors
    assert "'nothing' cannot be predicted" in json.loads(done.stdout)["problems"][0]
