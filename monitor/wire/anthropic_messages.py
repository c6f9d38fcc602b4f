"""Anthropic's Messages API, which DeepSeek, vLLM, llama.cpp and others offer too.

Source of the shapes: the Anthropic API reference (messages, streaming messages, extended thinking, tool use). It has
no logprobs and no seed.
"""

from dataclasses import dataclass
from typing import Any

from monitor.types import Request
from monitor.wire.anthropic_answer import MessagesAnswer
from monitor.wire.anthropic_request import conversation, tools
from monitor.wire.chat_messages import formless
from monitor.wire.dialects.anthropic import DIALECT
from monitor.wire.speaker import Speaker, dumped


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicMessages(Speaker):
    """Bodies and decoding of ``POST {base_url}/messages``."""

    kind = "anthropic_messages"
    path = "/messages"
    reader = MessagesAnswer
    says = frozenset({"messages", "max_tokens", "temperature", "top_p", "tools", "reasoning_off"})
    extra_headers = {"anthropic-version": "2023-06-01"}  # noqa: RUF012  # typed as a read-only ClassVar

    def unsayable(self, request: Request) -> set[str]:
        """Return ``messages`` or ``tools`` where they hold what has no form here."""
        return formless(messages=(conversation, request.messages), tools=(tools, request.tools))

    def body(self, request: Request, model: str) -> bytes:
        """Return the request body."""
        request = self.said(request)
        wanted: dict[str, Any] = {
            "model": model,
            **conversation(request.messages),
            self.wording.cap: request.max_tokens,
            "stream": request.stream,
        }
        wanted |= self.sampling(request)
        if request.tools:
            wanted["tools"] = tools(request.tools)
        return dumped(wanted | self.extras(request))


PROTOCOL = AnthropicMessages(dialect=DIALECT)
