"""What the store tells pages of its configuration. Oracle: the file that was written."""

from pathlib import Path
from typing import Any

import pytest

from jobs.configured_reads import configured_reads
from jobs.settings import load_config
from monitor.config_types import Config
from storage.memory import MemoryStore
from storage.parameters import Parameters

FILE = """
vantage: here
store: {path: w.duckdb}
references:
  m: {engine: torch, path: golden, calibration: calibration.json}
endpoints:
  - {name: p/a, provider: p, base_url: "http://127.0.0.1:1/v1", model: m, reference: m, budget_tokens_per_day: 500}
  - {name: p/b, provider: p, base_url: "http://127.0.0.1:1/v1", model: m}
probes: [{kind: speed, every: 1h}]
"""


def said(config: Config | None) -> Any:
    return configured_reads(lambda: config)["configured"](MemoryStore(), Parameters({}))()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "weighmaster.yaml"
    path.write_text(FILE)
    return load_config(path, {})


def test_a_store_without_a_file_says_nothing() -> None:
    assert said(None) == {"budgets": {}, "ladders": {}, "trouble": None}


def test_budgets_are_told_of_those_that_have_one_and_a_bad_calibration_is_told_in_words(config: Config) -> None:
    found = said(config)
    assert found["budgets"] == {"p/a": {"tokens": 500, "usd": None}}
    assert found["ladders"] == {}
    assert "weighmaster reference calibrate" in found["trouble"]


def test_a_calibration_becomes_a_ladder_by_the_name_of_its_reference(config: Config, tmp_path: Path) -> None:
    path = Path(str(config.references["m"].calibration))
    path.parent.mkdir(parents=True, exist_ok=True)
    member = '{"name": "Q4_0", "faithful": false, "value": 0.26, "low": 0.2, "high": 0.3}'
    path.write_text(
        '{"at": "2026-11-30T00:00:00Z", "n_prompts": 60, "fingerprint": {"weights_sha256": "f"},'
        f' "metrics": [{{"metric": "kl_nats", "tolerance": 0.002, "members": [{member}]}}]}}'
    )
    found = said(config)
    assert found["trouble"] is None
    assert found["ladders"]["m"]["rungs"][0]["name"] == "Q4_0"
