"""Writes the configuration that `weighmaster init` proposes: what was found as comments, the rest ready to use."""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

import yaml

_LISTED_MODELS = 20
_FULL_TOP_LOGPROBS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an endpoint turned out to be.

    ``models`` None: it has no models list. ``top_logprobs`` is the largest number of alternatives that came back,
    None when there were none, and then ``logprobs`` says what happened. ``tools`` and ``seed`` are in words.
    ``private`` says that its host is a name that leads to a private address.
    """

    base_url: str
    model: str
    models: tuple[str, ...] | None
    context: int | None
    streams: bool
    usage: bool
    top_logprobs: int | None
    logprobs: str
    tools: str
    seed: str
    private: bool = False


def config_text(found: Found, api_key_env: str | None, kinds: Collection[str]) -> str:
    """Return the YAML text for `found`; probes that are not among `kinds` are left out."""
    lines = [
        f"# Written by `weighmaster init` for {shown(found.base_url)}",
        "# What the endpoint did when asked once:",
        f"#   models     {_models_text(found)}",
        f"#   streaming  {_streaming_text(found)}",
        f"#   logprobs   {found.logprobs}",
        f"#   tools      {found.tools}",
        f"#   seed       {found.seed}",
        "# `weighmaster check` shows what this plan costs per day.",
        "",
        "# The golden weights to compare with:",
        "# references:",
        "#   golden: {path: golden/model}",
        "",
        *_endpoint_lines(found, api_key_env),
        "",
        *_probe_lines(found, kinds),
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Return `text` as a quoted YAML string that the config loader reads back unchanged."""
    escaped = text.replace("$", "$$")
    return str(yaml.safe_dump(escaped, default_style='"', allow_unicode=True, width=10**9)).strip()


def shown(text: str) -> str:
    """Return foreign text as one short printable line, safe in a comment and on a terminal."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= 200 else line[:200] + "..."


def endpoint_name(base_url: str, model: str) -> str:
    """Return ``provider/short-model``, the provider guessed from the host."""
    return f"{_provider(urlsplit(base_url).hostname or '')}/{_slug(model.rpartition('/')[2]) or 'model'}"


def _provider(host: str) -> str:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        labels = host.strip(".").split(".")
        return (_slug(labels[-2]) if len(labels) > 1 else "") or "local"
    return "local"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._:@+-]+", "-", text).strip("-._:@+")


def _models_text(found: Found) -> str:
    if found.models is None:
        return "no list"
    names = ", ".join(shown(name) for name in found.models[:_LISTED_MODELS])
    rest = len(found.models) - _LISTED_MODELS
    return f"{len(found.models)} listed: {names}" + (f" and {rest} more" if rest > 0 else "")


def _streaming_text(found: Found) -> str:
    if not found.streams:
        return "no: times to the first token cannot be measured"
    return "yes, with usage" if found.usage else "yes, without usage: tokens cannot be compared with the bill"


def _endpoint_lines(found: Found, api_key_env: str | None) -> list[str]:
    return [
        "endpoints:",
        f"  - name: {quoted(endpoint_name(found.base_url, found.model))}",
        f"    base_url: {quoted(found.base_url)}",
        f"    model: {quoted(found.model)}",
        "    protocol: openai_chat",
        f"    api_key: ${{{api_key_env}}}" if api_key_env else "    # api_key: ${NAME}",
        *(["    allow_private: true  # its name leads to a private address"] if found.private else []),
        f"    context: {found.context}" if found.context else "    # context: 131072",
        "    # precision: bf16        # what the provider declares",
        "    # reference: golden      # the golden weights that it claims to serve",
        "    # price_in_usd: 0.5      # per million tokens",
        "    # price_out_usd: 0.8",
    ]


def _probe_lines(found: Found, kinds: Collection[str]) -> list[str]:
    lines: list[str] = []
    if "speed" in kinds and found.streams:
        lines += ["  - kind: speed", "    every: 10m"]
    if "logprobs" in kinds and found.top_logprobs is not None:
        lines += ["  - kind: logprobs", "    every: 1h"]
        if found.top_logprobs < _FULL_TOP_LOGPROBS:
            lines.append(f"    top_k: {found.top_logprobs}")
    return ["probes:", *lines] if lines else ["# No probe fits what was found.", "probes: []"]
