"""Audits of real engines and real weights through the command line, and the same verdicts out of the evidence alone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.audit import UNSURE_ANSWERS
from jobs.golden import MODEL, ensure_gguf
from tests.e2e.test_main_job import environment
from tests.lab.server import llama_server

pytestmark = [pytest.mark.golden, pytest.mark.lab, pytest.mark.timeout(420)]

CONFIG = """
references: {{golden: {{path: {golden}}}}}
endpoints:
  - {{name: lab/faithful, base_url: {faithful}/v1, model: {model}, reference: golden, precision: f16,
      price_in_usd: 0.5, price_out_usd: 0.5}}
  - {{name: lab/degraded, base_url: {degraded}/v1, model: {model}, reference: golden, precision: f16}}
"""


@pytest.fixture
def folder(golden_home: Path, golden_folder: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with a configuration for a faithful and a degraded endpoint, both running."""
    options = ("--alias", MODEL, "--ctx", "2048")
    faithful, degraded = (ensure_gguf(golden_home, kind, print) for kind in ("F16", "Q4_0"))
    with llama_server(faithful, *options) as one, llama_server(degraded, *options) as other:
        text = CONFIG.format(golden=golden_folder, model=MODEL, faithful=one, degraded=other)
        (tmp_path / "weighmaster.yaml").write_text(text, "utf-8")
        yield tmp_path


def weighmaster(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(
        [sys.executable, "-m", "jobs.cli", *arguments, "--config", str(folder / "weighmaster.yaml"), "--json"],
        capture_output=True, text=True, env=environment(folder), check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["endpoints"], done.stderr


def test_faithful_passes_degraded_fails_and_the_evidence_says_the_same(folder: Path) -> None:
    out = str(folder / "out")
    code, rows, told = weighmaster(folder, "audit", "lab/*", "--out", out)
    assert code == 1
    faithful, degraded = rows
    assert (faithful["status"], faithful["cause"]) == ("pass", None), faithful["reason"]
    assert faithful["usd"] < 0.005
    assert (degraded["status"], degraded["cause"]) == ("fail", "weights"), degraded["reason"]
    # At most four tokens an answer; the name takes 32 answers, and up to 96 while it is unsure.
    assert degraded["tokens_out"] <= 4 * UNSURE_ANSWERS
    assert next(tokens for tokens, log_e in degraded["path"] if log_e > 6.9) <= 64
    assert degraded["usd"] is None
    assert told.count("evidence") >= 2  # the running evidence is shown

    code, again, _ = weighmaster(folder, "audit", "--from", out)
    assert code == 1  # of the degraded one
    assert len(again) > 4
    assert all(one["same"] for one in again), [one["detector"] for one in again if not one["same"]]
