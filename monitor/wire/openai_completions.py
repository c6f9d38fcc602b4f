"""OpenAI's legacy completions: raw text in, text out, no template. The protocol for teacher-forced prompts (echo).

Source of the shapes: the OpenAI API reference for completions; vLLM, SGLang and TensorRT-LLM send its logprobs as
parallel arrays, llama.cpp in the shape of chat completions. Both are read.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from monitor.types import Capture, Exchange, Request
from monitor.wire.chat_state import Answer, Told
from monitor.wire.dialects.openai import DIALECT
from monitor.wire.echo import without_echo
from monitor.wire.exchange import exchange_of
from monitor.wire.speaker import Speaker, dumped


class CompletionAnswer(Answer):
    """Reads choices that hold ``text`` in place of a message or delta."""

    def _listed(self, choices: Any) -> list[dict[str, Any]]:
        listed = super()._listed(choices)
        for raw in listed:
            logprobs = raw.get("logprobs")
            if "text" not in raw or (isinstance(logprobs, dict) and "content" in logprobs):
                self.flags["chat_shape"] = None
            if "text" in raw:
                raw["delta"] = {"content": raw["text"]}
        return listed


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAICompletions(Speaker):
    """Bodies and decoding of ``POST {base_url}/completions``."""

    kind = "openai_completions"
    path = "/completions"
    reader = CompletionAnswer
    says = frozenset({"prompt", "echo", "max_tokens", "temperature", "top_p", "seed", "top_logprobs"})

    def body(self, request: Request, model: str) -> bytes:
        """Return the request body. ``logprobs`` is the number of alternatives here."""
        request = self.said(request)
        wanted: dict[str, Any] = {
            "model": model,
            "prompt": request.prompt or "",
            self.wording.cap: request.max_tokens,
            "stream": request.stream,
        }
        if request.stream and self.wording.stream_usage:
            wanted["stream_options"] = {"include_usage": True}
        wanted |= self.sampling(request)
        if request.top_logprobs is not None:
            wanted["logprobs"] = request.top_logprobs
        if request.echo:
            wanted["echo"] = True
        return dumped(wanted | self.extras(request))

    def decode(self, capture: Capture, *, told: Told | None = None) -> Exchange:
        """Return the record of one attempt, an echoed prompt apart. Never raises for what an endpoint sent."""
        exchange = exchange_of(capture, partial(self.reader, told=told))
        usual = {"legacy_shape"}  # a conformance finding in chat answers only
        exchange = replace(exchange, flags=tuple(flag for flag in exchange.flags if flag not in usual))
        return without_echo(exchange, capture)


PROTOCOL = OpenAICompletions(dialect=DIALECT)
