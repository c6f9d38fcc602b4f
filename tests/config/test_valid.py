"""What a valid file becomes. Oracle: written by hand from the file."""

from pathlib import Path

import pytest

from monitor.cadence import every
from monitor.config import AgentConfig, Config, ProbePlan, ReferenceConfig, load
from monitor.errors import ConfigError
from monitor.types import Endpoint
from tests.config.catalogue import CATALOGUES, Accounting, LogprobFidelity, Logprobs, Speed

TEXT = Path(__file__).with_name("valid.yaml").read_text(encoding="utf-8")
ENVIRON = {"WEIGHMASTER_TOKEN": "the-token", "ACME_KEY": " k3\n", "REGION": "eu"}
MINIMAL = "endpoints: [{name: a/b, base_url: 'http://h/v1', model: m}]"


def full() -> Config:
    return load(TEXT, ENVIRON, CATALOGUES)


def test_sections() -> None:
    config = full()
    assert config.vantage == "office-berlin"
    assert config.store.path == "data/store.duckdb"
    assert (config.store.listen.host, config.store.listen.port) == ("0.0.0.0", 0)  # noqa: S104
    # What listens everywhere is asked at an address that a certificate can have.
    assert config.store.url.endswith("://127.0.0.1:0")
    assert (config.dashboard.listen.host, config.dashboard.listen.url) == ("::1", "http://[::1]:8600")
    assert config.agent == AgentConfig(spool="data/spool.sqlite", concurrency=2)
    assert config.references == {"smollm2": ReferenceConfig(path="golden/smollm2")}


def test_endpoints() -> None:
    first, second = full().endpoints
    assert first.endpoint == Endpoint(
        name="acme/llama-3.3-70b", provider="acme-inc", base_url="https://eu.acme.example/v1", model="4.10",
        reference="smollm2", precision="bf16", context=131072, price_in_usd=1.0, price_out_usd=0.8,
        tags=("eu", "no", "${literal}"),
    )  # fmt: skip
    assert second.endpoint == Endpoint(
        name="other/x", provider="other", base_url="http://127.0.0.1:9001", model="2024-08-06"
    )


def test_keys_are_trimmed_and_empty_means_none() -> None:
    """Case OP-08: a line break at the end of a key would make an illegal header."""
    config = full()
    first, second = config.endpoints
    assert first.api_key is not None
    assert first.api_key.get_secret_value() == "k3"
    assert second.api_key is None
    assert config.store.token is not None
    assert config.store.token.get_secret_value() == "the-token"


def test_plans() -> None:
    assert full().plans == (
        ProbePlan(
            probe=Speed(max_tokens=128, modes=("cold", "warm")), cadence=every(600.0), endpoints=("acme/llama-3.3-70b",)
        ),
        ProbePlan(probe=Speed(), cadence=every(5400.0), endpoints=("other/x",)),
        ProbePlan(probe=Logprobs(), cadence=every(86400.0), endpoints=("acme/llama-3.3-70b", "other/x")),
    )


def test_all_detectors_with_overrides() -> None:
    assert full().detectors == (Accounting(), LogprobFidelity(fail_nats=0.05))


def test_a_process_without_detectors_does_not_look_at_them() -> None:
    text = MINIMAL + "\ndetectors: {anything: {at: all}}"
    without = CATALOGUES.__class__(probes=CATALOGUES.probes, detectors=None, protocols=CATALOGUES.protocols)
    assert load(text, {}, without).detectors == ()


def test_defaults() -> None:
    config = load(MINIMAL, {}, CATALOGUES)
    assert config.vantage == "local"
    assert str(config.store.listen) == "127.0.0.1:8317"
    assert str(config.dashboard.listen) == "127.0.0.1:8501"
    assert config.store.token is None
    assert config.agent.concurrency == 4
    assert config.plans == ()
    assert config.references == {}


def test_sections_whose_lines_are_all_commented_out_count_as_absent() -> None:
    text = MINIMAL + "\nstore:\n  # path: x\nprobes:\nreferences:\ndetectors:\nvantage:\n"
    assert load(text, {}, CATALOGUES) == load(MINIMAL, {}, CATALOGUES)


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1h", 3600.0), ("1d", 86400.0), ("0.5h", 1800.0)]
)
def test_durations(written: str, seconds: float) -> None:
    text = MINIMAL + f"\nprobes: [{{kind: speed, every: {written}}}]"
    assert load(text, {}, CATALOGUES).plans[0].every_s == seconds


def test_what_a_variable_holds_never_becomes_structure() -> None:
    config = load(MINIMAL.replace("model: m", "model: '${M}'"), {"M": "x, api_key: [y]"}, CATALOGUES)
    assert config.endpoints[0].endpoint.model == "x, api_key: [y]"


def test_the_error_is_a_usage_error_for_the_command_line() -> None:
    with pytest.raises(ConfigError) as caught:
        load("", {}, CATALOGUES)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("http://127.0.0.1:3128", "http://127.0.0.1:3128"),
        ("https://proxy.example:443/", "https://proxy.example:443"),
        ("'http://[::1]:3128'", "http://[::1]:3128"),
        ("'${PROXY}'", "http://sam:pass@proxy.example:3128"),
        ("'http://sam:${WORD}@proxy.example:3128'", "http://sam:pass@proxy.example:3128"),
        ("''", None),
    ],
)
def test_how_to_get_to_an_endpoint(written: str, address: str | None) -> None:
    environ = {"PROXY": "http://sam:pass@proxy.example:3128\n", "WORD": "pass"}
    text = MINIMAL.replace("model: m", f"model: m, http2: true, proxy: {written}")
    (one,) = load(text, environ, CATALOGUES).endpoints
    assert one.http2
    assert (one.proxy.get_secret_value() if one.proxy else None) == address
    assert "pass" not in repr(one)
    (plain,) = load(MINIMAL, {}, CATALOGUES).endpoints
    assert (plain.http2, plain.proxy) == (False, None)


@pytest.mark.parametrize("precision", ["bf16", "FP8", "int4-g128", "Q4_K_M", "awq", "unknown"])
def test_a_declared_precision_stays_as_written(precision: str) -> None:
    (one,) = load(MINIMAL.replace("model: m", f"model: m, precision: {precision}"), {}, CATALOGUES).endpoints
    assert one.endpoint.precision == precision
