"""One named outcome per attempt, from its status, its transport's end and what was read of the answer."""

from monitor.types import Capture, Choice, Outcome
from monitor.wire.chat_state import Answer
from monitor.wire.error_body import outcome_of

_NAMED_ENDS: dict[str, Outcome] = {
    "connect_error": "connect_error",
    "address_refused": "address_refused",
    "tls_trust": "tls_trust",
    "tls_dropped": "tls_dropped",
    "timeout_first_byte": "timeout_first_byte",
    "stalled": "stalled",
    "client_limit": "client_limit",
    "cancelled": "not_run",
    "unsupported": "unsupported_param",
}
_GATEWAY_TIMEOUTS = frozenset({408, 504, 522, 524})


def transport_outcome(capture: Capture) -> Outcome | None:
    """Return the outcome of an attempt that got no response to read, else None."""
    if capture.end == "cancelled":
        return "not_run"
    if capture.status is None:
        # A connection that closes without a word was never a response; one that closes within its head was cut.
        closed: Outcome = "connect_error" if capture.first_byte_ns is None else "truncated"
        return _NAMED_ENDS.get(capture.end, closed)
    return None


def status_outcome(status: int, answer: Answer) -> Outcome | None:
    """Return the outcome that a status outside 2xx decides, else None."""
    if status in _GATEWAY_TIMEOUTS:
        answer.flags["gateway_timeout"] = None
    if status < 300:
        return None
    if status < 400:
        return "redirect"
    return outcome_of(status, answer.error)


def answer_outcome(capture: Capture, answer: Answer, choices: tuple[Choice, ...]) -> Outcome:
    """Return the outcome of a 2xx response whose body was read into `answer`."""
    failed = _in_band(answer, choices)
    if failed is not None:
        return failed
    finished = bool(choices) and all(choice.finish is not None for choice in choices)
    if capture.end != "complete":
        cut = _cut(capture, answer, finished=finished)
        if cut is not None:
            return cut
    if answer.streamed and finished and not answer.done:
        answer.flags["no_done"] = None
    return _ending(answer, choices, finished=finished)


def _in_band(answer: Answer, choices: tuple[Choice, ...]) -> Outcome | None:
    """An error inside a 200 response, wherever it stands."""
    if answer.error is not None:
        if answer.error.status is not None:
            answer.flags[f"error_code:{answer.error.status}"] = None
        return "error_in_stream" if answer.streamed else outcome_of(None, answer.error) or "error_in_stream"
    if any(choice.finish == "error" for choice in choices):
        return "error_in_stream"
    if "unframed_error" in answer.flags and not (choices and all(choice.finish for choice in choices)):
        return "error_in_stream"
    return None


def _cut(capture: Capture, answer: Answer, *, finished: bool) -> Outcome | None:
    """What an end of the transport other than a complete one means; None when the answer was complete by then."""
    if capture.end in {"unclean", "reset"}:
        named: Outcome = "truncated"
    else:
        named = _NAMED_ENDS[capture.end]
    if not (finished or answer.done) or capture.end in {"client_limit", "tls_trust"}:
        return named
    answer.flags["held_open" if capture.end in {"stalled", "timeout_first_byte"} else "unclean_close"] = None
    return None


def _ending(answer: Answer, choices: tuple[Choice, ...], *, finished: bool) -> Outcome:
    """What the endings of a body that was read to its end mean."""
    finishes = {choice.finish for choice in choices}
    if "content_filter" in finishes:
        return "filtered"
    if answer.cut_tail and not finished and not answer.done:
        return "truncated"
    if not any(choice.content or choice.reasoning or choice.tool_calls for choice in choices):
        if answer.streamed and answer.parse_errors and not choices:
            return "non_json_200"  # events came, and not one of them could be read
        return "ok_length" if "budget_spent_on_reasoning" in answer.flags else "empty"
    if not finished:
        return "unconfirmed" if answer.done or not answer.streamed else "truncated"
    return "ok_length" if "length" in finishes else "ok"
