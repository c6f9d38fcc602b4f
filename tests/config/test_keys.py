"""Where keys come from, and what an endpoint without one costs the others. Oracle: case OP-08."""

import logging
from pathlib import Path

import pytest

from jobs.check import disabled
from jobs.secret_files import WithSecretFiles
from jobs.settings import load_config
from monitor.config import Config, load
from monitor.errors import ConfigError
from tests.config.catalogue import CATALOGUES

OP_08 = """
endpoints:
  - {name: ep-1, provider: p, base_url: "http://127.0.0.1:9001/v1", model: m, api_key: "${PROBE_KEY_1}"}
  - {name: ep-2, provider: p, base_url: "http://127.0.0.1:9002/v1", model: m, api_key: "${PROBE_KEY_2}"}
  - {name: ep-3, provider: p, base_url: "http://127.0.0.1:9003/v1", model: m, api_key: "${PROBE_KEY_3}"}
  - {name: ep-4, provider: p, base_url: "http://127.0.0.1:9004/v1", model: m, api_key: ""}
"""
FROM_FILE = "endpoints: [{name: a/b, base_url: 'https://h.example/v1', model: m, api_key: '${file:%s}'}]"


def keys(config: Config) -> list[str | None]:
    return [entry.api_key.get_secret_value() if entry.api_key else None for entry in config.endpoints]


def test_op_08_an_unset_key_disables_its_endpoint_alone() -> None:
    config = load(OP_08, {"PROBE_KEY_2": "k2", "PROBE_KEY_3": "k3\n"}, CATALOGUES)
    assert keys(config) == [None, "k2", "k3", None]
    assert [entry.disabled for entry in config.endpoints] == [
        "the environment variable PROBE_KEY_1 is not set", None, None, None,
    ]  # fmt: skip
    (problem,) = disabled(config)
    assert str(problem).startswith("ep-1.api_key: the environment variable PROBE_KEY_1 is not set")


def test_a_blank_key_is_none() -> None:
    config = load(OP_08, {"PROBE_KEY_1": " \n", "PROBE_KEY_2": "k2", "PROBE_KEY_3": "k3"}, CATALOGUES)
    assert config.endpoints[0].disabled == "the environment variable PROBE_KEY_1 is empty"


@pytest.mark.parametrize("text", ["sk-abcdefgh", "sk-abcdefgh\n", "  sk-abcdefgh \r\n"])
def test_a_key_comes_from_a_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "acme.key").write_bytes(text.encode())
    path = tmp_path / "weighmaster.yaml"
    for written in (tmp_path / "acme.key", "acme.key"):
        path.write_text(FROM_FILE % written, encoding="utf-8")
        assert keys(load_config(path, {}, detectors=False)) == ["sk-abcdefgh"]


def test_a_relative_file_is_looked_up_where_systemd_puts_credentials(tmp_path: Path) -> None:
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "acme.key").write_text("sk-abcdefgh", encoding="utf-8")
    path = tmp_path / "weighmaster.yaml"
    path.write_text(FROM_FILE % "acme.key", encoding="utf-8")
    assert load_config(path, {}, detectors=False).endpoints[0].disabled == "the file acme.key cannot be read"
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")}
    assert keys(load_config(path, environ, detectors=False)) == ["sk-abcdefgh"]


def test_files_that_are_no_keys_disable_the_endpoint(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b" \n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "long").write_bytes(b"k" * 70_000)
    for name in ("empty", "binary", "long", "missing", "."):
        config = load(FROM_FILE % name, WithSecretFiles({}, tmp_path), CATALOGUES)
        assert (keys(config), bool(config.endpoints[0].disabled)) == ([None], True)


def test_a_file_that_everybody_can_read_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    key, path = tmp_path / "acme.key", tmp_path / "weighmaster.yaml"
    key.write_text("sk-abcdefgh", encoding="utf-8")
    path.write_text(FROM_FILE % "acme.key", encoding="utf-8")
    key.chmod(0o600)
    with caplog.at_level(logging.WARNING):
        load_config(path, {}, detectors=False)
        assert caplog.text == ""
        key.chmod(0o644)
        load_config(path, {}, detectors=False)
    assert "every user of this machine can read it" in caplog.text
    assert "sk-abcdefgh" not in caplog.text


def test_a_token_of_the_store_without_value_is_a_mistake_of_all() -> None:
    text = OP_08 + "store: {token: '${file:/nonexistent/token}'}\n"
    with pytest.raises(ConfigError, match="the file /nonexistent/token cannot be read"):
        load(text, {}, CATALOGUES)


def test_a_file_is_no_way_around_clear_text() -> None:
    with pytest.raises(ConfigError, match="clear text"):
        load(FROM_FILE.replace("${file:%s}", "x${file:a}"), {}, CATALOGUES)
