"""How a provider or engine words a protocol: frozen data, one `Dialect` per file of `monitor.wire.dialects`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One dialect's words for one protocol.

    ``cannot`` names the fields of `monitor.types.Request` that have no word here. ``cap`` and ``seed`` are the names
    of those two fields in the body, ``min_cap`` the smallest cap that is accepted (tokens). ``max_top_logprobs`` is
    the largest k that is accepted, None where no limit is known. ``stream_usage`` says that usage at the end of a
    stream must be asked for. ``reasoning_off`` is what the body gets to turn thinking off, None where nothing does.
    ``reasoning_in`` are the fields or parts that reasoning arrives in. ``path`` replaces the protocol's own and may
    hold ``{model}``. The key travels in ``key_header``, after ``key_prefix``.
    """

    cannot: frozenset[str] = frozenset()
    cap: str = "max_tokens"
    min_cap: int = 0
    seed: str = "seed"
    max_top_logprobs: int | None = None
    stream_usage: bool = True
    reasoning_off: Mapping[str, Any] | None = None
    reasoning_in: tuple[str, ...] = ()
    path: str | None = None
    key_header: str = "authorization"
    key_prefix: str = "Bearer "


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one provider or engine speaks. ``wordings`` holds its words by protocol; others it does not speak.

    ``pin`` returns what the body gets to keep a router at one upstream provider, and makes naming one compulsory.
    ``query`` is appended to every address. ``source`` says where the facts come from.
    """

    kind: str
    wordings: Mapping[str, Wording]
    source: str
    query: tuple[tuple[str, str], ...] = ()
    pin: Callable[[str], Mapping[str, Any]] | None = None
