"""The OpenAI chat completions protocol: what to send, and how to read what comes back, streamed or not.

Source of the shapes: the OpenAI API reference for chat completions, and what vLLM, SGLang, llama.cpp and the
providers behind them send in fact. Any bytes at all decode to an `Exchange`.
"""

import hashlib
from typing import Any

import orjson

from monitor.types import Capture, Choice, Exchange, Outcome, Request
from monitor.wire.asked import asked_for
from monitor.wire.body import Body, read_body
from monitor.wire.chat_state import Answer
from monitor.wire.conformance import conformance_flags, is_implausible, spent_on_reasoning
from monitor.wire.outcome import answer_outcome, status_outcome, transport_outcome
from monitor.wire.retry_after import retry_after_s
from monitor.wire.timing import is_buffered, rates, times
from monitor.wire.usage import UsageReading, read_usage


class OpenAIChat:
    """Bodies and decoding of ``POST {base_url}/chat/completions``."""

    kind = "openai_chat"
    path = "/chat/completions"

    def body(self, request: Request, model: str) -> bytes:
        """Return the request body. Optional parameters appear only when asked for; the cap always does."""
        wanted: dict[str, Any] = {
            "model": model,
            "messages": list(request.messages),
            "max_tokens": request.max_tokens,
            "stream": request.stream,
        }
        if request.stream:
            wanted["stream_options"] = {"include_usage": True}
        for name in ("temperature", "top_p", "seed"):
            if (value := getattr(request, name)) is not None:
                wanted[name] = value
        if request.top_logprobs is not None:
            wanted |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.tools:
            wanted["tools"] = list(request.tools)
        return orjson.dumps(wanted, default=dict)

    def decode(self, capture: Capture) -> Exchange:
        """Return the record of one attempt. Never raises for what an endpoint sent."""
        outcome = transport_outcome(capture)
        if outcome is not None:
            return _exchange(capture, Body(answer=Answer(streamed=False)), outcome, ())
        asked = asked_for(capture)
        body = read_body(capture, asked)
        answer = body.answer
        built = [answer.choices[index].built() for index in sorted(answer.choices)]
        choices = tuple(choice for choice, _ in built)
        usage = None if answer.usage is None else read_usage(answer.usage)
        if spent_on_reasoning(choices, usage):
            answer.flags["budget_spent_on_reasoning"] = None
        outcome = status_outcome(capture.status or 0, answer) or body.verdict
        outcome = outcome or answer_outcome(capture, answer, choices)
        flags = conformance_flags(asked, choices, usage, tuple(answer.models))
        answer.flags.update(dict.fromkeys(flags))
        visible = min((at for _, at in built if at is not None), default=None)
        return _exchange(capture, body, outcome, choices, usage, visible_ns=visible)


PROTOCOL = OpenAIChat()


def _exchange(
    capture: Capture,
    body: Body,
    outcome: Outcome,
    choices: tuple[Choice, ...],
    usage: UsageReading | None = None,
    *,
    visible_ns: int | None = None,
) -> Exchange:
    answer, framing = body.answer, body.framing
    wait_s, long_wait = retry_after_s(capture.header, capture.started_at)
    if long_wait:
        answer.flags["long_wait"] = None
    if is_buffered(capture, answer):
        answer.flags["buffered_stream"] = None
    generated = usage.generated if usage is not None and not is_implausible(choices, usage) else None
    decode = rates(answer, capture.t0_ns, generated)
    complete = outcome in {"ok", "ok_length"}
    return Exchange(
        request=capture.request,
        protocol=capture.protocol,
        started_at=capture.started_at,
        sent_sha256=hashlib.sha256(capture.sent).hexdigest() if capture.sent else None,
        outcome=outcome,
        status=capture.status,
        attempt=capture.attempt,
        retry_after_s=wait_s,
        error=_words(capture, body, outcome),
        choices=choices,
        models=tuple(answer.models),
        providers=_providers(answer),
        fingerprint=answer.fingerprint,
        request_id=capture.header("x-request-id") or capture.header("request-id") or answer.response_id,
        done=answer.done,
        **times(capture, answer, visible_ns),
        token_events=answer.token_events if framing else None,
        events=len(framing.events) if framing else None,
        comments=framing.comments if framing else None,
        ignored_events=answer.ignored_events if framing else None,
        unknown_lines=framing.unknown_lines if framing else None,
        parse_errors=answer.parse_errors if framing or answer.parse_errors else None,
        usage=answer.usage,
        tokens_from="usage" if generated is not None else None,
        tpot_ms=decode.tpot_ms if complete else None,
        tps=decode.tps if complete else None,
        events_per_token=decode.events_per_token,
        flags=tuple(answer.flags),
    )


def _providers(answer: Answer) -> tuple[str, ...]:
    """Upstream providers named in the answer or in its error."""
    named = dict(answer.providers)
    if answer.error is not None and answer.error.provider:
        named[answer.error.provider] = None
    return tuple(named)


def _words(capture: Capture, body: Body, outcome: Outcome) -> str | None:
    """The endpoint's own words about a failure, else the transport's."""
    if body.answer.error is not None:
        return body.answer.error.message
    return capture.error or (body.words if outcome not in {"ok", "ok_length"} else None)
