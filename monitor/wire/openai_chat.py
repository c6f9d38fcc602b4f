"""The OpenAI chat completions protocol: what to send, and how to read what comes back, streamed or not.

Source of the shapes: the OpenAI API reference for chat completions, and what vLLM, SGLang, llama.cpp and the
providers behind them send in fact. Any bytes at all decode to an `Exchange`.
"""

from dataclasses import dataclass
from typing import Any

from monitor.types import Request
from monitor.wire.dialects.openai import DIALECT
from monitor.wire.speaker import Speaker, dumped


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIChat(Speaker):
    """Bodies and decoding of ``POST {base_url}/chat/completions``."""

    kind = "openai_chat"
    path = "/chat/completions"
    says = frozenset(
        {"messages", "max_tokens", "temperature", "top_p", "seed", "top_logprobs", "tools", "reasoning_off", "extra"}
    )  # fmt: skip

    def body(self, request: Request, model: str) -> bytes:
        """Return the request body. Optional parameters appear only when asked for; the cap always does."""
        request = self.said(request)
        wanted: dict[str, Any] = {
            "model": model,
            "messages": list(request.messages),
            self.wording.cap: request.max_tokens,
            "stream": request.stream,
        }
        if request.stream and self.wording.stream_usage:
            wanted["stream_options"] = {"include_usage": True}
        wanted |= self.sampling(request)
        if request.top_logprobs is not None:
            wanted |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.tools:
            wanted["tools"] = list(request.tools)
        return dumped(wanted | self.extras(request) | dict(request.extra))


PROTOCOL = OpenAIChat(dialect=DIALECT)
