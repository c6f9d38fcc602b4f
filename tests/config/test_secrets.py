"""Keys never appear in messages, reprs or JSON, wherever in the file they stand (cases OP-08, OP-09)."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.codec import encode
from monitor.config import load
from monitor.errors import ConfigError
from tests.config.catalogue import CATALOGUES

VALID = Path(__file__).with_name("valid.yaml").read_text(encoding="utf-8")
SECRET = "sk-" + "4f1b9c77e2a54d"
FIXED = settings(deadline=None, derandomize=True)
VALUES = [match.span(1) for match in re.finditer(r"(?<!name): +([^\s{\[,}]+)[,}\n]", VALID)]  # names are public


def messages(text: str) -> str:
    """Everything that a user or a log sees of the mistakes in `text`."""
    try:
        load(text, {"WEIGHMASTER_TOKEN": SECRET, "ACME_KEY": SECRET, "REGION": "eu", "S": SECRET}, CATALOGUES)
    except ConfigError as error:
        return f"{error} {error!r} {error.problems!r} {error.__cause__!r}"
    return ""


def test_there_are_values_to_replace() -> None:
    assert len(VALUES) >= 20


def test_a_valid_configuration_masks_its_secrets() -> None:
    config = load(VALID, {"WEIGHMASTER_TOKEN": SECRET, "ACME_KEY": SECRET, "REGION": "eu"}, CATALOGUES)
    assert SECRET not in f"{config!r} {config}"
    with pytest.raises(TypeError):
        encode(config)
    assert SECRET not in json.dumps(config.endpoints[0], default=str)


@FIXED
@given(where=st.sampled_from(VALUES), extra=st.sampled_from(["", "x", " y", "\\n"]))
def test_a_variable_put_in_the_wrong_place_does_not_show(where: tuple[int, int], extra: str) -> None:
    """A secret used as a model, a kind, a duration, ...: taken or refused, but never in a message."""
    text = f'{VALID[: where[0]]}"${{S}}{extra}"{VALID[where[1] :]}'
    assert SECRET not in messages(text)


@FIXED
@given(key=st.sampled_from(["api_key", "token"]), before=st.sampled_from(["", "Bearer ", "'", "[", "{a: ", "!x ", "*"]))
def test_a_secret_in_clear_text_does_not_show(key: str, before: str) -> None:
    text = re.sub(rf"{key}: \S+", f"{key}: {before}{SECRET}", VALID, count=1)
    assert SECRET not in messages(text)
    with pytest.raises(ConfigError):
        load(text, {"WEIGHMASTER_TOKEN": "t", "ACME_KEY": "k", "REGION": "eu"}, CATALOGUES)


@FIXED
@given(
    where=st.integers(0, len(VALID)),
    noise=st.text(alphabet="ab:-[]{}'\"#&*!|>%@`\n\t ${}1.,\\\u00e9\u2028\ud800", max_size=6),
    cut=st.integers(0, 4),
)
def test_whatever_the_text_the_only_error_is_a_config_error(where: int, noise: str, cut: int) -> None:
    messages(VALID[:where] + noise + VALID[where + cut :])


@pytest.mark.parametrize("depth", [50, 150, 250, 5000])
@pytest.mark.parametrize("key", ["vantage", "anything", "store: {path", "endpoints"])
def test_deep_nesting_is_a_mistake_like_others(key: str, depth: int) -> None:
    close = "}" if "{" in key else ""
    assert messages(f"{key}: {'[' * depth}{']' * depth}{close}\n")


def test_a_probes_own_words_are_withheld_when_a_variable_may_be_in_them() -> None:
    text = "endpoints: [{name: a/b, base_url: http://h, model: m}]\nprobes: [{kind: logprobs, every: 1h, top_k: 21"
    environ = {"S": SECRET}
    with pytest.raises(ConfigError, match="is above 20"):
        load(text + "}]", environ, CATALOGUES)
    with pytest.raises(ConfigError, match="may show what a variable holds"):
        load(text + ", note: '${S}'}]", environ, CATALOGUES)
