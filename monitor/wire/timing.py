"""Times of an exchange, in ms from t0, and the rates that follow from them.

Definitions: DESIGN section 5. Events share the stamp of the read that completed them, so nothing here depends on
when they were parsed.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from monitor.types import Capture, Exchange
from monitor.wire.bounds import MAX_TOKENS
from monitor.wire.chat_state import Answer

_NS_PER_MS = 1e6

FIRST_UNKNOWN = "first_event_tokens_unknown"
"""Flag: TPOT rests on the guess that the first token event held one token."""

BOUND_SHARE = 0.05
"""Timings whose error bound exceeds this share of the TTFT are kept out of percentiles."""


class Rates(NamedTuple):
    """``tpot_ms`` per token, ``tps`` tokens per second within the decode window, ``events_per_token``."""

    tpot_ms: float | None
    tps: float | None
    events_per_token: float | None


def since(t0_ns: int | None, at_ns: int | None) -> float | None:
    """Milliseconds from `t0_ns` to `at_ns`; None when one of them is missing."""
    return None if t0_ns is None or at_ns is None else (at_ns - t0_ns) / _NS_PER_MS


def _duration(ns: int | None) -> float | None:
    return None if ns is None else ns / _NS_PER_MS


def times(capture: Capture, answer: Answer, visible_ns: int | None) -> dict[str, Any]:
    """Return the timing fields of an `Exchange`. `visible_ns` is the stamp of the first visible content."""
    t0 = capture.t0_ns
    ttft = since(t0, answer.ttft_ns)
    bound = capture.lag_ms
    return {
        "first_event_ms": since(t0, answer.first_event_ns),
        "ttft_ms": ttft,
        "ttfo_ms": since(t0, visible_ns),
        "last_token_ms": since(t0, answer.last_token_ns),
        "done_ms": since(t0, answer.done_ns),
        "eof_ms": since(t0, capture.eof_ns),
        "dns_ms": _duration(capture.dns_ns),
        "connect_ms": _duration(capture.connect_ns),
        "tls_ms": _duration(capture.tls_ns),
        "sent_ms": since(t0, capture.sent_ns),
        "first_byte_ms": since(t0, capture.first_byte_ns),
        "reused": capture.reused,
        "transport": capture.transport,
        "transport_retry": capture.transport_retry,
        "lag_ms": capture.lag_ms,
        "error_bound_ms": bound,
        "measurement": measurement(ttft, bound, timed=t0 is not None),
    }


def measurement(ttft_ms: float | None, bound_ms: float | None, *, timed: bool = True) -> str:
    """Return ``valid``, or why the timings are kept out of percentiles."""
    if not timed:
        return "no clock"
    if ttft_ms is None:
        return "no token"
    if bound_ms is None:
        return "error bound unknown"
    return "valid" if bound_ms <= BOUND_SHARE * ttft_ms else "error bound above 5%"


def rates(
    window_ms: float | None, token_events: int, first_tokens: float | None, generated: float | None
) -> Rates:  # fmt: skip
    """Return decode rates for `generated` tokens: window / (N - n1), None where the window is 0 or N <= n1.

    n1 is `first_tokens`; 1 where that is not known. A count that no answer has (below 1, above `MAX_TOKENS`) is none.
    """
    if generated is None or not 1 <= generated <= MAX_TOKENS or token_events == 0:
        return Rates(None, None, None)
    density = token_events / generated
    n1 = first_tokens or 1
    if window_ms is None or window_ms <= 0 or generated <= n1:
        return Rates(None, None, density)
    tpot = window_ms / (generated - n1)
    return Rates(tpot, 1000.0 / tpot, density)


def is_first_unknown(decode: Rates, token_events: int, first_tokens: float | None, generated: float | None) -> bool:
    """Whether `decode` rests on the guess that the first token event held one token.

    It is no guess when every token had its own event (the end token has none).
    """
    if decode.tpot_ms is None or generated is None:
        return False
    return first_tokens is None and not 0 <= generated - token_events <= 1


def with_golden_tokens(exchange: Exchange, n: int) -> Exchange:
    """Return `exchange` with `n` tokens counted by the golden tokenizer, and its rates computed from them.

    The endpoint's own count stays in ``usage``. An answer that is not complete gets no rates.
    """
    window = None
    if exchange.ttft_ms is not None and exchange.last_token_ms is not None:
        window = exchange.last_token_ms - exchange.ttft_ms
    events, first = exchange.token_events or 0, exchange.first_tokens
    decode = rates(window, events, first, n)
    flags = [flag for flag in exchange.flags if flag != FIRST_UNKNOWN]
    if is_first_unknown(decode, events, first, n):
        flags.append(FIRST_UNKNOWN)
    return replace(
        exchange,
        tokens_golden=n,
        tokens_from="golden",
        tpot_ms=decode.tpot_ms if exchange.answered else None,
        tps=decode.tps if exchange.answered else None,
        events_per_token=decode.events_per_token,
        flags=tuple(flags),
    )


def is_buffered(capture: Capture, answer: Answer) -> bool:
    """Whether the whole answer came in one burst: something held the stream back.

    Either three or more token events share one read, or two do at the very end of a long silence after the first byte.
    """
    if capture.t0_ns is None or answer.ttft_ns is None or answer.ttft_ns != answer.last_token_ns:
        return False
    if answer.token_events >= 3:
        return True
    first = capture.reads[0].at_ns
    whole = (answer.done_ns or capture.reads[-1].at_ns) - first
    return answer.token_events == 2 and whole > 0 and (answer.ttft_ns - first) / whole > 0.9
