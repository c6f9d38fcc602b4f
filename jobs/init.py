"""Asks an endpoint what it is and writes a commented configuration for it.

Costs at most 9 chat requests of a few tokens each. What an endpoint says goes into comments and quoted strings only.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from pydantic_core import PydanticCustomError

from jobs.init_text import Found, config_text, shown
from monitor.config_fields import check_base_url
from monitor.errors import UsageError
from probes.transport.guard import Guard, RefusedAddressError

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_BODY_LIMIT = 8 * 2**20
_ANSWER_S = 60.0
"""A server that drips bytes for ever must not hold us: what came until then is looked at."""
_TOP_LOGPROBS = (20, 10, 5, 1)
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather in a town",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    },
}


def init(
    url: str,
    *,
    api_key_env: str | None = None,
    environ: Mapping[str, str],
    model: str | None = None,
    kinds: Collection[str] = ("speed", "logprobs"),
    transport: httpx.BaseTransport | None = None,
    report: Callable[[str], None] = lambda _step: None,
) -> str:
    """Return the text of a configuration for the endpoint at `url`.

    Parameters
    ----------
    url
        Base address of the API; ``/v1`` is tried when there is no models list without it.
    api_key_env
        Name of the environment variable that holds the key. The key itself never appears in the result.
    environ
        Where the key is looked up.
    model
        Model to ask; None takes the first of the models list.
    kinds
        Probes that exist.
    transport
        What carries the requests; None opens connections.
    report
        Told before each step.

    Raises
    ------
    UsageError
        When the endpoint is dead, refuses the key, answers with a web page, or answers no chat request.
    """
    base_url, key = _base_url(url), _key(api_key_env, environ)
    with _Endpoint(base_url, key, api_key_env, transport) as endpoint:
        report(f"asking {base_url} for its models")
        listed = endpoint.models()
        chosen = _choose(endpoint.base_url, model, listed)
        report(f"asking {shown(chosen)} what it can do")
        found = replace(_ask(endpoint, chosen, listed), private=transport is None and _leads_inside(endpoint.base_url))
        return config_text(found, api_key_env, kinds)


def _leads_inside(url: str) -> bool:
    """Whether the client will want the permission ``allow_private`` for `url`."""
    host = httpx.URL(url).raw_host.decode("ascii")
    try:
        asyncio.run(Guard().addresses(host, 80))
    except RefusedAddressError:
        return True
    except (OSError, UnicodeError):  # it answered a moment ago: let the client say what is wrong
        return False
    return False


def _base_url(url: str) -> str:
    try:
        return check_base_url(url)
    except PydanticCustomError as error:
        raise UsageError(f"the URL {error.message()}; such as https://api.acme.example/v1") from None


def _key(name: str | None, environ: Mapping[str, str]) -> str | None:
    if name is None:
        return None
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError("--api-key-env takes the name of an environment variable, not the key itself")
    key = environ.get(name, "").strip()
    if not key:
        raise UsageError(f"the environment variable {name} is not set; put the key of the endpoint into it")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"the environment variable {name} holds something that no header can carry")
    return key


def _choose(base_url: str, model: str | None, listed: Mapping[str, int | None] | None) -> str:
    if model is not None:
        return model
    if not listed:
        raise UsageError(f"{base_url}/models lists no models; name the one to watch with --model")
    return next(iter(listed))


class _Endpoint:
    """Sends single requests; what cannot be worked with becomes a UsageError."""

    def __init__(
        self, base_url: str, key: str | None, key_name: str | None, transport: httpx.BaseTransport | None
    ) -> None:
        self.base_url = base_url
        self._key, self._key_name = key, key_name
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(
            headers=headers, timeout=_TIMEOUT, follow_redirects=False, trust_env=False, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def models(self) -> dict[str, int | None] | None:
        """Return the listed models with their context lengths, in order; None when there is no list."""
        status, body = self._send("GET", "/models")
        found = _models(body) if status == 200 else None
        if found is None and not urlsplit(self.base_url).path.strip("/"):
            deeper, body_deeper = self._send("GET", "/v1/models")
            if deeper == 200 and (found := _models(body_deeper)) is not None:
                self.base_url += "/v1"
        if found is None and status == 200:
            self._refuse_page(body)
        return found

    def chat(self, model: str, **more: Any) -> tuple[int, bytes]:
        """Return status and body of one small chat request."""
        messages = [{"role": "user", "content": "Say hello."}]
        return self._send("POST", "/chat/completions", {"model": model, "messages": messages, "max_tokens": 4, **more})

    def words(self, body: bytes) -> str:
        """What the endpoint said, in one line and without the key, which some endpoints echo."""
        text = body.decode("utf-8", "replace")
        return shown(text.replace(self._key, "***") if self._key else text) or "it said nothing"

    def _send(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> tuple[int, bytes]:
        try:
            with self._http.stream(method, self.base_url + path, json=content) as response:
                body, deadline = bytearray(), time.monotonic() + _ANSWER_S
                for part in response.iter_bytes():
                    body += part
                    if len(body) > _BODY_LIMIT or time.monotonic() > deadline:
                        break
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            what = f"{type(error).__name__}: {shown(str(error))}"
            raise UsageError(f"{self.base_url}: no usable answer ({what}); check address and server") from None
        self._refuse_status(response)
        return response.status_code, bytes(body)

    def _refuse_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if status in {401, 403}:
            key = f"the key in {self._key_name}" if self._key_name else "requests without a key"
            remedy = "check it" if self._key_name else "put the key into a variable and name it with --api-key-env"
            raise UsageError(f"{self.base_url}: refuses {key} (HTTP {status}); {remedy}")
        if 300 <= status < 400:
            place = urlsplit(response.headers.get("location", ""))
            host = place.netloc.rpartition("@")[2]  # without credentials
            target = shown(f"{place.scheme}://{host}{place.path}") if host else "another path"
            raise UsageError(f"{self.base_url}: redirects to {target}; give the final address")
        if status == 429:
            raise UsageError(f"{self.base_url}: is limiting our requests (HTTP 429); try again later")

    def _refuse_page(self, body: bytes) -> None:
        if body.lstrip()[:1] == b"<":
            raise UsageError(f"{self.base_url}: answers with a web page, not an API; the API is often under /v1")


def _models(body: bytes) -> dict[str, int | None] | None:
    """Read a models list: ``{"data": [{"id": ...}]}``, or the bare list that some providers send."""
    content = _json(body)
    entries = content.get("data") if isinstance(content, dict) else content
    if not isinstance(entries, list):
        return None
    named = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return {entry["id"]: _context(entry) for entry in named if entry["id"].strip()}


def _context(entry: Mapping[str, Any]) -> int | None:
    lengths = (entry.get(key) for key in ("max_model_len", "context_length", "context_window"))
    return next((n for n in lengths if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)


def _ask(endpoint: _Endpoint, model: str, listed: Mapping[str, int | None] | None) -> Found:
    streams, usage = _streaming(endpoint, model)
    top_logprobs, logprobs = _logprobs(endpoint, model)
    seed_status = endpoint.chat(model, seed=1)[0]
    return Found(
        base_url=endpoint.base_url,
        model=model,
        models=tuple(listed) if listed is not None else None,
        context=(listed or {}).get(model),
        streams=streams,
        usage=usage,
        top_logprobs=top_logprobs,
        logprobs=logprobs,
        tools=_tools(endpoint, model),
        seed="accepted" if seed_status == 200 else f"refused (HTTP {seed_status})",
    )


def _streaming(endpoint: _Endpoint, model: str) -> tuple[bool, bool]:
    """Return whether it streams, and whether the stream reports usage; raise when it does not answer at all."""
    status, body = endpoint.chat(model, stream=True, stream_options={"include_usage": True})
    if status in {400, 422}:
        status, body = endpoint.chat(model, stream=True)
    chunks = [_json(line[5:]) for line in body.splitlines() if line.startswith(b"data:")]
    if status == 200 and any(isinstance(_dig(chunk, "choices"), list) for chunk in chunks):
        return True, any(_dig(chunk, "usage") for chunk in chunks)
    status, body = endpoint.chat(model)
    if status == 200 and _dig(_json(body), "choices", 0, "message") is not None:
        return False, False
    raise UsageError(f"{endpoint.base_url}: no answer from {shown(model)} (HTTP {status}): {endpoint.words(body)}")


def _logprobs(endpoint: _Endpoint, model: str) -> tuple[int | None, str]:
    """Return the largest number of alternatives that comes back, and what happened in words."""
    statuses: list[int] = []
    for wanted in _TOP_LOGPROBS:
        status, body = endpoint.chat(model, logprobs=True, top_logprobs=wanted, max_tokens=1)
        if status == 200:
            top = _dig(_json(body), "choices", 0, "logprobs", "content", 0, "top_logprobs")
            n = len(top) if isinstance(top, list) else 0
            return (n, f"up to {n} alternatives per token") if n else (None, "accepted, but none come back")
        statuses.append(status)
    return None, f"refused (HTTP {statuses[-1]})"


def _tools(endpoint: _Endpoint, model: str) -> str:
    messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
    status, body = endpoint.chat(model, tools=[_TOOL], messages=messages, max_tokens=64)
    if status != 200:
        return f"refused (HTTP {status})"
    called = _dig(_json(body), "choices", 0, "message", "tool_calls")
    return "accepted, and called" if called else "accepted, but not called in one try"


def _dig(value: Any, *path: str | int) -> Any:
    """Return what stands at `path`, or None as soon as the shape is another."""
    for part in path:
        if isinstance(part, str) and isinstance(value, dict):
            value = value.get(part)
        elif isinstance(part, int) and isinstance(value, list) and len(value) > part:
            value = value[part]
        else:
            return None
    return value


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
