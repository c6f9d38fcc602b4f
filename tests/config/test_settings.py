"""The real catalogue, the files of the user, and the examples that we ship."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from jobs.check import as_json, disabled
from jobs.init_text import Found, config_text
from jobs.settings import catalogues, load_config, load_service
from monitor.config import json_schema, load
from monitor.config_types import PlanEntry
from monitor.errors import ConfigError, UsageError

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
KEYS = {"OPENROUTER_API_KEY": "k1", "TOGETHER_API_KEY": "k2", "FIREWORKS_API_KEY": "k3", "WEIGHMASTER_TOKEN": "t"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_load_and_have_a_plan(path: Path) -> None:
    plan = as_json(load_config(path, KEYS))
    assert plan["total"]["requests_per_day"] > 0


def test_there_is_an_example() -> None:
    assert [path.name for path in EXAMPLES] == ["providers.yaml"]


def test_an_example_without_a_key_names_it_and_the_others_go_on() -> None:
    config = load_config(EXAMPLES[0], {name: key for name, key in KEYS.items() if name != "TOGETHER_API_KEY"})
    off = [entry.disabled for entry in config.endpoints if entry.disabled]
    assert set(off) == {"the environment variable TOGETHER_API_KEY is not set"}
    assert len(off) < len(config.endpoints)
    assert {str(one) for one in disabled(config)}
    assert all("TOGETHER_API_KEY" in str(one) for one in disabled(config))


def test_what_init_writes_fits_the_real_probes() -> None:
    found = Found(
        base_url="http://127.0.0.1:1/v1", model="m", models=None, context=None, streams=True, usage=True,
        top_logprobs=5, logprobs="", tools="", seed="",
    )  # fmt: skip
    known = catalogues()
    plans = load(config_text(found, None, known.probes), {}, known).plans
    assert [plan.probe.kind for plan in plans] == ["speed", "logprobs"]
    assert plans[1].probe.top_k == 5


def test_the_schema_of_the_real_catalogue_names_every_probe_and_detector() -> None:
    known = catalogues()
    schema = json_schema(known)
    entries = schema["properties"]["probes"]["items"]["oneOf"]
    kinds = {entry["allOf"][1]["properties"]["kind"]["const"] for entry in entries}
    assert kinds == set(known.probes) >= {"speed", "logprobs"}
    assert set(schema["properties"]["detectors"]["properties"]) == set(known.detectors or ())


def test_the_docs_name_every_key_of_the_file() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    schema = json_schema(catalogues(detectors=False))
    own = [
        "StoreConfig", "DashboardConfig", "AgentConfig", "JudgeConfig", "ReferenceConfig", "EndpointEntry",
        "MaintenanceEntry",
    ]  # fmt: skip
    keys = set(schema["properties"]).union(*(schema["$defs"][name]["properties"] for name in own))
    keys |= {item.name for item in fields(PlanEntry)}
    assert sorted(key for key in keys if f"`{key}`" not in text) == []


def test_the_example_in_the_docs_loads() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    config = load(example, {"ACME_KEY": "k", "WEIGHMASTER_TOKEN": "t"}, catalogues())
    assert [plan.endpoints for plan in config.plans] == [("acme/llama-3.3-70b",)] * 2


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="weighmaster init URL"):
        load_config(tmp_path / "weighmaster.yaml", {})


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "weighmaster.yaml").write_bytes(b"vantage: \xff\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_config(tmp_path / "weighmaster.yaml", {})
    with pytest.raises(UsageError, match="cannot be read"):
        load_config(tmp_path, {})


def test_messages_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml: is not valid YAML"):
        load_config(path, {})


def test_without_detectors_scipy_is_not_imported() -> None:
    """The agent must stay light: its configuration is loaded in a process of its own here."""
    code = (
        "import sys; from pathlib import Path; from jobs.settings import load_config\n"
        f"load_config(Path({str(EXAMPLES[0])!r}), {KEYS!r}, detectors=False)\n"
        "print([name for name in ('scipy', 'pandas', 'torch', 'duckdb') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_a_running_service_is_found_through_a_file_with_mistakes_elsewhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever looks after a service needs it most when the file is wrong; mistakes in what says where stay errors."""
    path = tmp_path / "w.yaml"
    path.write_text("store: {listen: '127.0.0.1:8611'}\nendpoints: [{name: a/m, modle: m}]\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        load_config(path, {}, detectors=False)
    assert load_service(path, {}).store.listen.port == 8611
    assert "modle" in caplog.text
    assert "only vantage, store, agent, judge, dashboard are read" in caplog.text
    for text in ("store: {listen: nowhere}\n", "store: [\n", "[]\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError):
            load_service(path, {})
