"""What `init` finds out about real local servers. Oracle: what each server was made to do."""

import socket
from dataclasses import replace
from typing import Any

import httpx
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.init import init
from jobs.init_text import Found, config_text, endpoint_name, quoted
from monitor.config import Config, load
from monitor.errors import UsageError
from tests.config.catalogue import CATALOGUES
from tests.config.fake_endpoint import Kind, serving

FOUND = Found(
    base_url="https://api.acme.example/v1", model="tiny", models=("tiny",), context=None, streams=True, usage=True,
    top_logprobs=20, logprobs="up to 20", tools="accepted", seed="accepted",
)  # fmt: skip


def asked(kind: Kind, **more: Any) -> tuple[str, Config]:
    """Text that init writes for a server of this kind, and the configuration that the text is."""
    environ = more.pop("environ", {})
    with serving(kind) as server:
        text = init(server.url + more.pop("path", "/v1"), environ=environ, **more)
    return text, load(text, environ, CATALOGUES)


def refused(kind: Kind, **more: Any) -> str:
    with pytest.raises(UsageError) as caught:
        asked(kind, **more)
    return str(caught.value)


def test_a_capable_endpoint() -> None:
    text, config = asked(Kind())
    (entry,) = config.endpoints
    assert (entry.endpoint.name, entry.endpoint.model) == ("local/tiny", "tiny")
    assert entry.endpoint.context == 8192
    assert entry.api_key is None
    assert [(plan.probe.kind, plan.every_s) for plan in config.plans] == [("speed", 600.0), ("logprobs", 3600.0)]
    assert config.plans[1].probe.top_k == 20
    assert "2 listed: tiny, other" in text
    assert "streaming  yes, with usage" in text
    assert "tools      accepted, and called" in text
    assert "seed       accepted" in text


def test_requests_are_small_and_few() -> None:
    with serving(Kind(max_logprobs=0, streams=False, stream_options=False)) as server:
        init(server.url + "/v1", environ={})
    assert len(server.posted) <= 9
    assert all(body["max_tokens"] <= 64 for body in server.posted)


def test_logprobs_up_to_five() -> None:
    text, config = asked(Kind(max_logprobs=5))
    assert "up to 5 alternatives" in text
    assert config.plans[1].probe.top_k == 5


@pytest.mark.parametrize(("accepts", "words"), [(0, "refused (HTTP 400)"), (None, "accepted, but none come back")])
def test_no_logprobs(accepts: int | None, words: str) -> None:
    text, config = asked(Kind(max_logprobs=accepts))
    assert f"logprobs   {words}" in text
    assert [plan.probe.kind for plan in config.plans] == ["speed"]


def test_no_stream_options_is_no_usage() -> None:
    text, _ = asked(Kind(stream_options=False))
    assert "yes, without usage" in text


def test_no_streaming_means_no_speed_probe() -> None:
    text, config = asked(Kind(streams=False))
    assert "streaming  no" in text
    assert [plan.probe.kind for plan in config.plans] == ["logprobs"]


def test_tools_and_seed_refused() -> None:
    text, _ = asked(Kind(tools="refused", seed=False))
    assert "tools      refused (HTTP 400)" in text
    assert "seed       refused (HTTP 400)" in text


def test_the_key_is_used_and_never_written() -> None:
    text, config = asked(Kind(key="sk-4f1b9c"), api_key_env="ACME_KEY", environ={"ACME_KEY": "sk-4f1b9c\n"})
    assert "sk-4f1b9c" not in text
    assert "api_key: ${ACME_KEY}" in text
    assert config.endpoints[0].api_key is not None


def test_refused_without_and_with_a_key() -> None:
    assert "--api-key-env" in refused(Kind(key="right"))
    told = refused(Kind(key="right"), api_key_env="ACME_KEY", environ={"ACME_KEY": "wrong"})
    assert "the key in ACME_KEY (HTTP 401)" in told
    assert "wrong" not in told


def test_a_key_variable_that_is_not_set_or_is_no_name() -> None:
    assert "ACME_KEY is not set" in refused(Kind(), api_key_env="ACME_KEY")
    assert "name of an environment variable" in refused(Kind(), api_key_env="sk-4f1b9c")


def test_a_web_page() -> None:
    assert "web page" in refused(Kind(html=True))


def test_a_dead_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UsageError, match=r"no usable answer \(ConnectError"):
        init(f"http://127.0.0.1:{port}/v1", environ={})


def test_a_redirect_is_named_and_not_followed() -> None:
    told = refused(Kind(location="https://u:secret@elsewhere.example/v1/models?key=secret"))
    assert "redirects to https://elsewhere.example/v1/models" in told
    assert "secret" not in told


def test_no_models_list_needs_a_model() -> None:
    assert "--model" in refused(Kind(models_status=404))
    text, config = asked(Kind(models_status=404), model="tiny")
    assert "models     no list" in text
    assert config.endpoints[0].endpoint.model == "tiny"


def test_a_bare_list_of_models() -> None:
    _, config = asked(Kind(models=[{"id": "org/small"}, {"nothing": 1}, 7]))
    assert (config.endpoints[0].endpoint.name, config.endpoints[0].endpoint.model) == ("local/small", "org/small")


def test_v1_is_found_by_itself() -> None:
    _, config = asked(Kind(), path="")
    assert config.endpoints[0].endpoint.base_url.endswith("/v1")


def test_an_endpoint_that_answers_no_chat_says_why_without_the_key() -> None:
    told = refused(Kind(chat_status=500, key="sk-4f1b9c"), api_key_env="K", environ={"K": "sk-4f1b9c"})
    assert "HTTP 500" in told
    assert "model not ready, key ***" in told
    assert told.isprintable()


def test_rate_limited_is_not_taken_for_a_missing_capability() -> None:
    assert "try again later" in refused(Kind(chat_status=429))


@pytest.mark.parametrize("url", ["acme.example/v1", "https://u:pw@acme.example", "https://acme.example?key=x", ""])
def test_a_url_that_cannot_be_used(url: str) -> None:
    with pytest.raises(UsageError, match="the URL"):
        init(url, environ={})


def answering(body: bytes) -> httpx.MockTransport:
    def handle(request: httpx.Request) -> httpx.Response:
        models = b'{"data": [{"id": "tiny", "context_length": "many"}]}'
        return httpx.Response(200, content=models if request.url.path.endswith("/models") else body)

    return httpx.MockTransport(handle)


@pytest.mark.parametrize("body", [b"", b"[", b"null", b'{"choices": 5}', b'{"choices": [7]}', b"[" * 100_000])
def test_answers_without_a_message_are_refused(body: bytes) -> None:
    with pytest.raises(UsageError, match="no answer from tiny"):
        init("http://h/v1", environ={}, transport=answering(body))


@pytest.mark.parametrize("logprobs", [b"1", b"[]", b'{"content": 3}', b'{"content": [{"top_logprobs": "many"}]}'])
def test_logprobs_of_another_shape_are_none(logprobs: bytes) -> None:
    body = b'{"choices": [{"message": [], "logprobs": %s}]}' % logprobs
    text = init("http://h/v1", environ={}, transport=answering(body))
    assert "logprobs   accepted, but none come back" in text
    assert "    # context: 131072" in text


@pytest.mark.parametrize("model", ["4.10", "no", "012", "12:30:00", "1e5", "~", "", "a: b", "x #y", "m${HOME}", "$$"])
def test_models_that_yaml_would_misread_are_kept(model: str) -> None:
    text = config_text(replace(FOUND, model=model or "x"), None, ("speed",))
    assert load(text, {}, CATALOGUES).endpoints[0].endpoint.model == (model or "x")


@settings(deadline=None, derandomize=True, max_examples=200)
@given(text=st.text(min_size=1).filter(lambda text: text.strip() and not any("\ud800" <= c <= "\udfff" for c in text)))
def test_whatever_a_model_is_called_the_file_stays_what_it_is(text: str) -> None:
    """A hostile models list cannot add keys: the name comes back as one string."""
    found = replace(FOUND, model=text, models=(text, text))
    assert load(config_text(found, None, ("speed", "logprobs")), {}, CATALOGUES).endpoints[0].endpoint.model == text
    assert yaml.safe_load(quoted(text)) == text.replace("$", "$$")


@pytest.mark.parametrize(
    ("url", "model", "name"),
    [
        ("https://api.together.xyz/v1", "meta-llama/Llama-3.3-70B", "together/Llama-3.3-70B"),
        ("https://openrouter.ai/api/v1", "a/b:free", "openrouter/b:free"),
        ("http://127.0.0.1:8000/v1", "x y", "local/x-y"),
        ("http://[::1]:8000/v1", "m", "local/m"),
        ("http://localhost", "模型", "local/model"),
    ],
)
def test_names(url: str, model: str, name: str) -> None:
    assert endpoint_name(url, model) == name
