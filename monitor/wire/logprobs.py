"""Logprob entries as endpoints send them: the chat shape and the legacy arrays, with unusable values made None.

A value is *masked* when it says "impossible or unknown" (null, not finite, -9000 or lower) and *positive* when it is
above floating-point noise; neither is ever used as a number.
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from monitor.types import TokenLogprob, TopToken
from monitor.wire.alternatives import Alternatives

MASKED_AT = -9000.0
"""Sentinels such as -9999 and -3.4e38 mean masked or unknown."""

NOISE = 1e-6
"""A positive value up to here is rounding noise around 0."""

_USUAL = 3
"""Fields of an alternative: token, logprob, bytes."""

_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")


def value_of(raw: Any, flags: dict[str, None]) -> float | None:
    """Return the logprob, or None with a flag when it is masked or no logprob."""
    if type(raw) is float and MASKED_AT < raw < 0.0:
        return raw  # nearly all
    if isinstance(raw, bool) or not (raw is None or isinstance(raw, int | float)):
        flags["odd_type:logprob"] = None
        return None
    if raw is None or not isfinite(raw) or raw <= MASKED_AT:
        flags["masked_logprob"] = None
        return None
    if raw > NOISE:
        flags["positive_logprob"] = None
        return None
    return min(float(raw), 0.0)


def entries(raw: Any, flags: dict[str, None]) -> list[TokenLogprob] | None:
    """Return the entries of a choice's ``logprobs``, or None when there are none to speak of (null, or no object)."""
    if raw is None:
        return None
    if not isinstance(raw, dict):
        flags["odd_type:logprobs"] = None
        return None
    content = raw.get("content")
    if type(content) is list:
        refusal = raw.get("refusal")
        listed = content + refusal if type(refusal) is list else content
        return [_entry(item, flags) for item in listed if type(item) is dict or _is_object(item, flags)]
    if isinstance(raw.get("tokens"), list):
        flags["legacy_shape"] = None
        return list(_legacy(raw, flags))
    if content is not None:
        flags["odd_type:logprobs"] = None
    return None


def _is_object(item: Any, flags: dict[str, None]) -> bool:
    if isinstance(item, dict):
        return True
    flags["odd_type:logprobs"] = None
    return False


def _entry(item: dict[str, Any], flags: dict[str, None]) -> TokenLogprob:
    token, raw_bytes, token_id = _token(item, flags)
    value, listed = value_of(item.get("logprob"), flags), item.get("top_logprobs")
    top = _plain(listed) if type(listed) is list else None
    return TokenLogprob(token, value, raw_bytes, token_id, _top(listed, flags) if top is None else top)


def _top(listed: Any, flags: dict[str, None]) -> tuple[TopToken, ...]:
    """Alternatives without exact repetitions: some servers list the sampled token twice."""
    if not isinstance(listed, list):
        if listed is not None:
            flags["odd_type:top_logprobs"] = None
        return ()
    top = [_alternative(other, flags) for other in listed if _is_object(other, flags)]
    kept = tuple(dict.fromkeys(top))
    if len(kept) < len(top):
        flags["duplicate_alternative"] = None
    return kept


def _plain(listed: list[Any]) -> Alternatives | None:
    """Alternatives that all have the usual form, different tokens, and raise no flag; None for any others."""
    logprobs: dict[str, float] = {}
    spelled: list[bytes] = []
    try:
        for item in listed:
            if (
                len(item) != _USUAL
                or type(token := item["token"]) is not str
                or type(value := item["logprob"]) is not float
                or not MASKED_AT < value <= 0.0
                or type(raw := item["bytes"]) is not list
            ):
                return None
            logprobs[token] = value
            spelled.append(bytes(raw))
    except (KeyError, TypeError, ValueError):
        return None
    return Alternatives(logprobs, spelled) if len(logprobs) == len(listed) else None


def _alternative(item: dict[str, Any], flags: dict[str, None]) -> TopToken:
    token, raw_bytes, token_id = _token(item, flags)
    return TopToken(token, value_of(item.get("logprob"), flags), raw_bytes, token_id)


def _token(item: dict[str, Any], flags: dict[str, None]) -> tuple[str, tuple[int, ...] | None, int | None]:
    token, token_id = item.get("token"), item.get("id")
    if type(token) is not str:
        flags["odd_type:token"] = None
        token = ""
    return token, _bytes(item.get("bytes"), token, flags), token_id if type(token_id) is int else None


def _bytes(raw: Any, token: str, flags: dict[str, None]) -> tuple[int, ...] | None:
    if type(raw) is list:
        try:
            return tuple(bytes(raw))
        except (TypeError, ValueError):
            pass
    elif raw is None:
        # Some servers print the bytes of a partial character into the token: "bytes:\xf0\x9f".
        return tuple(int(pair, 16) for pair in _ESCAPED.findall(token)) if token.startswith("bytes:\\x") else None
    flags["odd_type:bytes"] = None
    return None


def _legacy(raw: Mapping[str, Any], flags: dict[str, None]) -> Iterator[TokenLogprob]:
    values, tops = raw.get("token_logprobs"), raw.get("top_logprobs")
    for position, token in enumerate(raw["tokens"]):
        yield TokenLogprob(
            token=token if isinstance(token, str) else "",
            logprob=value_of(_at(values, position), flags),
            top=_text_keyed(_at(tops, position), flags),
        )


def _at(values: Any, position: int) -> Any:
    return values[position] if isinstance(values, list) and position < len(values) else None


def _text_keyed(top: Any, flags: dict[str, None]) -> tuple[TopToken, ...]:
    if not isinstance(top, dict):
        return ()
    flags["text_keyed"] = None
    return tuple(TopToken(token=token, logprob=value_of(value, flags)) for token, value in top.items())
