"""What all protocols share: which fields of a `Request` can be said, where to, and with which headers.

A probe says what it wants once, in `Request`. Here that is compared with what the protocol and its dialect have words
for: what has none is reported, never dropped in silence.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import orjson

from monitor.types import Capture, Exchange, Request
from monitor.wire.chat_state import Answer, Told
from monitor.wire.exchange import exchange_of
from monitor.wire.progress import Progress
from monitor.wire.wording import Dialect, Wording

SAYABLE = (
    "messages", "prompt", "echo", "max_tokens", "temperature", "top_p", "seed", "top_logprobs", "tools",
    "reasoning_off", "extra",
)  # fmt: skip
"""The fields of a `Request` that a protocol or dialect may have no word for."""

_UNSET: dict[str, Any] = {item.name: item.default for item in fields(Request)} | {"messages": (), "extra": {}}
SAMPLING = ("temperature", "top_p", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker(ABC):
    """A protocol in one dialect: what to send, and how to read what comes back. Pure.

    Subclasses give ``kind`` (name in configuration and records), ``path`` (what follows the base URL), ``says`` (the
    fields of `SAYABLE` that the protocol has words for), ``extra_headers``, ``reader`` (what knows its events and whole
    answers) and ``ndjson`` (whether it streams one JSON object per line in place of server-sent events).
    """

    dialect: Dialect
    upstream: str | None = None
    kind: ClassVar[str]
    path: ClassVar[str]
    says: ClassVar[frozenset[str]]
    extra_headers: ClassVar[Mapping[str, str]] = {}
    reader: ClassVar[type[Answer]] = Answer
    ndjson: ClassVar[bool] = False

    @abstractmethod
    def body(self, request: Request, model: str) -> bytes:
        """Return the exact bytes to send; what cannot be said is left out (see `unsupported`)."""

    def decode(self, capture: Capture, *, told: Told | None = None) -> Exchange:
        """Return the record of `capture`; never raises for what an endpoint sent. Independent of the dialect.

        `told` hears of every event of a stream once it is read.
        """
        return exchange_of(capture, partial(self.reader, told=told), ndjson=self.ndjson)

    def progress(self) -> Progress:
        """Return what follows an answer of this protocol while it arrives."""
        return Progress(self.reader, ndjson=self.ndjson)

    def unsayable(self, request: Request) -> set[str]:
        """Return fields whose content has no form in this protocol, such as a message of an unknown role."""
        del request
        return set()

    @property
    def wording(self) -> Wording:
        """The dialect's words for this protocol."""
        return self.dialect.wordings[self.kind]

    def unsupported(self, request: Request) -> tuple[str, ...]:
        """Return the fields that `request` sets and that cannot be said, in the order of `SAYABLE`."""
        missing = {name for name in self._asked(request) if name not in self.says or name in self.wording.cannot}
        missing |= self.unsayable(request)
        if request.max_tokens < self.wording.min_cap:
            missing.add("max_tokens")
        if request.reasoning_off and self.wording.reasoning_off is None:
            missing.add("reasoning_off")
        return tuple(name for name in SAYABLE if name in missing)

    def refused(self, request: Request) -> tuple[str, ...]:
        """Return the requirements of `request` that cannot be said: with any of them, nothing may be sent."""
        return tuple(name for name in self.unsupported(request) if name not in request.optional)

    def departures(self, request: Request) -> tuple[str, ...]:
        """Return flags for what the body says otherwise: ``not_sent:<field>``, ``lowered:top_logprobs``."""
        flags = [f"not_sent:{name}" for name in self.unsupported(request)]
        said = self.said(request).top_logprobs
        if said is not None and said != request.top_logprobs:
            flags.append("lowered:top_logprobs")
        return tuple(flags)

    def said(self, request: Request) -> Request:
        """Return `request` as far as it can be said: without unsupported fields, top-k lowered to what is accepted."""
        changes = {name: _UNSET[name] for name in self.unsupported(request) if name != "max_tokens"}
        most = self.wording.max_top_logprobs
        if request.top_logprobs is not None and most is not None and "top_logprobs" not in changes:
            changes["top_logprobs"] = min(request.top_logprobs, most)
        return replace(request, **changes)

    def _asked(self, request: Request) -> set[str]:
        """The fields that `request` sets. Of a prompt and messages, the one that the protocol does not say is none."""
        asked = {name for name in SAYABLE if getattr(request, name) != _UNSET[name]}
        if {"prompt", "messages"} <= asked:
            asked.discard("messages" if "prompt" in self.says else "prompt")
        return asked

    def extras(self, request: Request) -> dict[str, Any]:
        """Return what the dialect adds to any body: thinking off, and the pinned upstream."""
        added: dict[str, Any] = {}
        if request.reasoning_off:
            added |= self.wording.reasoning_off or {}
        if self.dialect.pin is not None and self.upstream is not None:
            added |= self.dialect.pin(self.upstream)
        return added

    def sampling(self, request: Request) -> dict[str, Any]:
        """Return temperature, top-p and seed under the dialect's names, as far as they are set."""
        named = {"seed": self.wording.seed}
        values = {name: getattr(request, name) for name in SAMPLING}
        return {named.get(name, name): value for name, value in values.items() if value is not None}

    def url(self, base_url: str, model: str) -> str:
        """Return the address to send to."""
        parts = urlsplit(base_url)
        path = (self.wording.path or self.path).replace("{model}", quote(model, safe=""))
        query = urlencode(self.dialect.query)
        return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, query, ""))

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the protocol's own headers, with the key if there is one."""
        named = {} if key is None else {self.wording.key_header: self.wording.key_prefix + key}
        return {**self.extra_headers, **named}


def dumped(body: Mapping[str, Any]) -> bytes:
    """Return a request body as JSON; read-only mappings are written as objects."""
    return orjson.dumps(body, default=dict)
