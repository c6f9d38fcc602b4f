"""Ollama's native chat: one JSON object per line, the same shape whole.

Source of the shapes: ollama/ollama docs/api.md and api/types.go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.types import Request
from monitor.wire.chat_messages import Turn, UnsayableError, argument_object, turns
from monitor.wire.dialects.ollama import DIALECT
from monitor.wire.ollama_answer import OllamaAnswer
from monitor.wire.ollama_request import common
from monitor.wire.speaker import Speaker, dumped


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaChat(Speaker):
    """Bodies and decoding of ``POST {base_url}/chat``; the base URL ends in ``/api``."""

    kind = "ollama_chat"
    path = "/chat"
    reader = OllamaAnswer
    ndjson = True
    says = frozenset(
        {"messages", "max_tokens", "temperature", "top_p", "seed", "top_logprobs", "tools", "reasoning_off"}
    )  # fmt: skip

    def unsayable(self, request: Request) -> set[str]:
        """Return ``messages`` where they hold what has no form here."""
        try:
            _messages(request.messages)
        except UnsayableError:
            return {"messages"}
        return set()

    def body(self, request: Request, model: str) -> bytes:
        """Return the request body. Sampling parameters stand in ``options``."""
        request = self.said(request)
        wanted: dict[str, Any] = {"model": model, "messages": _messages(request.messages), **common(self, request)}
        if request.tools:
            wanted["tools"] = list(request.tools)
        return dumped(wanted | self.extras(request))


PROTOCOL = OllamaChat(dialect=DIALECT)


def _messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages with arguments as objects, and results under the name of the tool that gave them."""
    spoken = turns(messages)
    names = {call.id: call.name for turn in spoken for call in turn.calls}
    return [_message(turn, names) for turn in spoken]


def _message(turn: Turn, names: Mapping[str, str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": argument_object(call)}} for call in turn.calls
        ]
    if turn.call_id is not None:
        message |= {"tool_name": names.get(turn.call_id, ""), "tool_call_id": turn.call_id}
    return message
