"""From a capture to an `Exchange`: what all protocols share once their events are read into an `Answer`."""

import hashlib
from dataclasses import replace

from monitor.types import Capture, Choice, Exchange, Outcome
from monitor.wire.asked import asked_for
from monitor.wire.body import Body, read_body
from monitor.wire.bounds import MAX_TOKENS, NAME_CHARS
from monitor.wire.chat_state import Answer, Reader
from monitor.wire.conformance import conformance_flags, is_implausible, spent_on_reasoning
from monitor.wire.error_body import EVIDENCE_CHARS
from monitor.wire.fragments import fragments_of
from monitor.wire.outcome import answer_outcome, status_outcome, transport_outcome
from monitor.wire.redirect import redirect_words
from monitor.wire.retry_after import CAP_S, QUOTA_CAP_S, retry_after_s
from monitor.wire.timing import FIRST_UNKNOWN, is_buffered, is_first_unknown, rates, since, times
from monitor.wire.usage import UsageReading, read_usage


def exchange_of(capture: Capture, reader: Reader = Answer, *, ndjson: bool = False) -> Exchange:
    """Return the record of one attempt. Never raises for what an endpoint sent.

    Parameters
    ----------
    reader
        Knows the events and the whole answers of the protocol.
    ndjson
        Whether the protocol streams one JSON object per line in place of server-sent events.
    """
    outcome = transport_outcome(capture)
    if outcome is not None:
        return _exchange(capture, Body(answer=Answer(streamed=False)), outcome, ())
    asked = asked_for(capture)
    body = read_body(capture, asked, reader, ndjson=ndjson)
    answer = body.answer
    pieces = fragments_of(answer.choices.values()) if answer.streamed else ()
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
    return replace(_exchange(capture, body, outcome, choices, usage, visible_ns=visible), fragments=pieces)


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
    cap_s = QUOTA_CAP_S if outcome == "quota_exhausted" else CAP_S
    wait_s, long_wait = retry_after_s(capture.header, capture.started_at, cap_s=cap_s)
    if long_wait:
        answer.flags["long_wait"] = None
    if is_buffered(capture, answer):
        answer.flags["buffered_stream"] = None
    generated = usage.generated if usage is not None and not is_implausible(choices, usage) else None
    window = None if answer.ttft_ns is None else since(answer.ttft_ns, answer.last_token_ns)
    decode = rates(window if capture.t0_ns is not None else None, answer.token_events, answer.first_tokens, generated)
    if is_first_unknown(decode, answer.token_events, answer.first_tokens, generated):
        answer.flags[FIRST_UNKNOWN] = None
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
        request_id=_request_id(capture) or answer.response_id,
        done=answer.done,
        **times(capture, answer, visible_ns),
        token_events=answer.token_events if framing else None,
        events=len(framing.events) if framing else None,
        comments=framing.comments if framing else None,
        ignored_events=answer.ignored_events if framing else None,
        unknown_lines=framing.unknown_lines if framing else None,
        parse_errors=answer.parse_errors if framing or answer.parse_errors else None,
        usage=answer.usage,
        first_tokens=_countable(answer.first_tokens),
        tokens_from="usage" if generated is not None else None,
        tpot_ms=decode.tpot_ms if complete else None,
        tps=decode.tps if complete else None,
        events_per_token=decode.events_per_token,
        flags=(*answer.flags, *capture.departures),
    )


def _request_id(capture: Capture) -> str | None:
    """The id in the headers, as long as any real one."""
    named = capture.header("x-request-id") or capture.header("request-id")
    return named[:NAME_CHARS] if named else None


def _countable(count: float | None) -> int | None:
    """A count as an integer, unless it is larger than any answer."""
    return round(count) if count is not None and count <= MAX_TOKENS else None


def _providers(answer: Answer) -> tuple[str, ...]:
    """Upstream providers named in the answer or in its error."""
    named = dict(answer.providers)
    if answer.error is not None and answer.error.provider:
        named[answer.error.provider] = None
    return tuple(named)


def _words(capture: Capture, body: Body, outcome: Outcome) -> str | None:
    """The endpoint's own words about a failure, else the transport's."""
    if outcome == "redirect" and capture.status is not None:  # a page about it repeats the whole address
        return redirect_words(capture.status, capture.header("location"))
    if body.answer.error is not None:
        return body.answer.error.message
    words = capture.error or (body.words if outcome not in {"ok", "ok_length"} else None)
    return words[:EVIDENCE_CHARS] if words else words
