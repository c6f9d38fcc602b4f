"""OpenAI's Responses API, which vLLM, TensorRT-LLM and others offer too.

Source of the shapes: the OpenAI API reference (responses, streaming events). It has no seed, and ends its streams
with a final event in place of a marker. Nothing is stored at the provider (``store`` false).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.types import Request
from monitor.wire.chat_messages import Turn, formless, functions, turns
from monitor.wire.dialects.openai import DIALECT
from monitor.wire.responses_answer import ResponsesAnswer
from monitor.wire.speaker import Speaker, dumped


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIResponses(Speaker):
    """Bodies and decoding of ``POST {base_url}/responses``."""

    kind = "openai_responses"
    path = "/responses"
    reader = ResponsesAnswer
    says = frozenset({"messages", "max_tokens", "temperature", "top_p", "top_logprobs", "tools", "reasoning_off"})

    def unsayable(self, request: Request) -> set[str]:
        """Return ``messages`` or ``tools`` where they hold what has no form here."""
        return formless(messages=(_items, request.messages), tools=(_tools, request.tools))

    def body(self, request: Request, model: str) -> bytes:
        """Return the request body."""
        request = self.said(request)
        wanted: dict[str, Any] = {
            "model": model,
            "input": _items(request.messages),
            self.wording.cap: request.max_tokens,
            "stream": request.stream,
            "store": False,
        }
        wanted |= self.sampling(request)
        if request.top_logprobs is not None:
            wanted |= {"include": ["message.output_text.logprobs"], "top_logprobs": request.top_logprobs}
        if request.tools:
            wanted["tools"] = _tools(request.tools)
        return dumped(wanted | self.extras(request))


PROTOCOL = OpenAIResponses(dialect=DIALECT)


def _items(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [item for turn in turns(messages) for item in _turn_items(turn)]


def _turn_items(turn: Turn) -> list[dict[str, Any]]:
    """The input items of one message: a call is an item of its own here."""
    if turn.role == "tool":
        return [{"type": "function_call_output", "call_id": turn.call_id, "output": turn.text}]
    text = [{"role": turn.role, "content": turn.text}] if turn.text or not turn.calls else []
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in turn.calls
    ]
    return [*text, *calls]


def _tools(chat_tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", **function} for function in functions(chat_tools)]
