"""Dialect, protocol and upstream of an endpoint. Oracle: the rules of docs/protocols.md."""

from dataclasses import replace

import pytest

from monitor.config import load
from monitor.errors import ConfigError
from monitor.wire.dialects import dialects
from monitor.wire.dispatch import protocols
from tests.config.catalogue import CATALOGUES

KNOWN = replace(CATALOGUES, protocols=tuple(protocols()), dialects=dialects())


def text(more: str) -> str:
    return f"endpoints: [{{name: a/b, base_url: 'http://h/v1', model: m, {more}}}]"


def test_both_reach_the_endpoint() -> None:
    [entry] = load(text("dialect: openrouter, upstream: acme/fp8"), {}, KNOWN).endpoints
    assert (entry.endpoint.dialect, entry.endpoint.upstream) == ("openrouter", "acme/fp8")
    [entry] = load(text("protocol: ollama_chat"), {}, KNOWN).endpoints
    assert (entry.endpoint.protocol, entry.endpoint.dialect) == ("ollama_chat", None)


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ("dialect: vlm", "dialect", 'did you mean "vllm"?'),
        ("dialect: groq, protocol: openai_completions", "dialect", "does not speak the protocol openai_completions"),
        ("dialect: openrouter", "upstream", "is missing"),
        ("dialect: vllm, upstream: acme", "upstream", "known: openrouter"),
        ("upstream: acme", "upstream", "needs a dialect"),
    ],
)
def test_what_does_not_fit_is_named(more: str, path: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text(more), {}, KNOWN)
    [problem] = caught.value.problems
    assert problem.path.endswith(f"endpoints[0].{path}")
    assert words in str(problem)
