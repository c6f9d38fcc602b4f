"""The JSON Schema of the file, checked with jsonschema as an independent reader."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from monitor.alerting.conditions import CONDITIONS
from monitor.config import json_schema
from monitor.config_types import PlanEntry
from tests.config.catalogue import CATALOGUES, LogprobFidelity, Speed

VALID = Path(__file__).with_name("valid.yaml")
SCHEMA = json_schema(CATALOGUES)


def content() -> dict[str, Any]:
    text = VALID.read_text(encoding="utf-8").replace("2024-08-06", "'2024-08-06'").replace("8e-1", "0.8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def test_the_page_of_a_rule_names_every_kind() -> None:
    """Oracle: the kinds that the loader knows."""
    described = SCHEMA["$defs"]["ConfigInvalid"]["properties"]["kind"]["description"]
    assert set(re.findall(r"[a-z_]+", described.partition(":")[2])) - {"or"} == set(CONDITIONS)


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    json.dumps(SCHEMA)


def test_the_valid_file_fits() -> None:
    jsonschema.validate(content(), SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"vantege": "x"},
        {"vantage": 4},
        {"endpoints": []},
        {"probes": [{"kind": "sped", "every": "10m"}]},
        {"probes": [{"kind": "speed", "every": "10m", "top_k": 3}]},
        {"probes": [{"kind": "speed", "every": 10}]},
        {"probes": [{"kind": "speed", "every": "1h for 14d"}]},
        {"probes": [{"kind": "speed", "cron": ["0 9 * * *"]}]},
        {"maintenance": [{"start": "2026-12-01"}]},
        {"detectors": {"logprob_fidelty": {}}},
        {"detectors": {"logprob_fidelity": {"fail_nats": "x"}}},
        {"store": {"paht": "x"}},
        {"references": {"a": {"device": "auto"}}},
        {"endpoints": [{"name": "a/b", "base_url": "http://h", "model": "m", "protocol": "smtp"}]},
    ],
    ids=str,
)
def test_mistakes_do_not_fit(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content() | change, SCHEMA)


def test_probes_and_detectors_bring_their_fields_with_descriptions() -> None:
    speed, fidelity = SCHEMA["$defs"]["Speed"], SCHEMA["$defs"]["LogprobFidelity"]
    assert speed["description"] == "How fast does it answer?"
    assert set(speed["properties"]) == {item.name for item in fields(Speed)} | {item.name for item in fields(PlanEntry)}
    assert speed["properties"]["max_tokens"]["description"] == "Length of each answer."
    assert speed["properties"]["max_tokens"]["default"] == 64
    assert set(fidelity["properties"]) == {item.name for item in fields(LogprobFidelity)}


def test_every_key_of_the_file_is_described() -> None:
    own = [
        "StoreConfig", "DashboardConfig", "AgentConfig", "JudgeConfig", "ReferenceConfig", "EndpointEntry",
        "MaintenanceEntry",
    ]  # fmt: skip
    bare = [
        f"{name}.{key}" for name in own for key, about in SCHEMA["$defs"][name]["properties"].items()
        if not about.get("description")
    ]  # fmt: skip
    assert bare == []
