"""Ollama's native generate: one prompt, raw or put into the model's template, one JSON object per line.

Source of the shapes: ollama/ollama docs/api.md and api/types.go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.types import Request
from monitor.wire.chat_messages import UnsayableError, turns
from monitor.wire.dialects.ollama import DIALECT
from monitor.wire.ollama_answer import OllamaAnswer
from monitor.wire.ollama_request import common
from monitor.wire.speaker import Speaker, dumped


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaGenerate(Speaker):
    """Bodies and decoding of ``POST {base_url}/generate``; the base URL ends in ``/api``."""

    kind = "ollama_generate"
    path = "/generate"
    reader = OllamaAnswer
    ndjson = True
    says = frozenset(
        {"messages", "prompt", "max_tokens", "temperature", "top_p", "seed", "top_logprobs", "reasoning_off"}
    )  # fmt: skip

    def unsayable(self, request: Request) -> set[str]:
        """Return ``messages`` where there is no prompt and they are more than one user's turn."""
        try:
            _prompt(request)
        except UnsayableError:
            return {"messages"}
        return set()

    def body(self, request: Request, model: str) -> bytes:
        """Return the request body. Sampling parameters stand in ``options``."""
        request = self.said(request)
        return dumped({"model": model, **_prompt(request), **common(self, request), **self.extras(request)})


PROTOCOL = OllamaGenerate(dialect=DIALECT)


def _prompt(request: Request) -> dict[str, Any]:
    if request.prompt is not None:
        return {"prompt": request.prompt, "raw": True}
    return _templated(request.messages) if request.messages else {"prompt": ""}


def _templated(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One user's turn, after a system message or none. Raises `UnsayableError` for any other conversation."""
    *before, last = turns(messages)
    if last.role != "user" or [turn.role for turn in before] not in ([], ["system"]):
        raise UnsayableError("a conversation of several turns")
    system = {"system": before[0].text} if before else {}
    return {"prompt": last.text, **system}
