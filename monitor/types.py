"""The nouns of the wire: what is asked, what came back, and what was decoded from it.

Suffixes carry units (``_ms``, ``_ns``, ``_s``, ``_nats``, ``_per_s``); ``_at`` is an aware UTC datetime;
``n_`` is a count. Absence is None, never 0. Everything here is frozen and JSON-able (see `monitor.codec`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, dataclass_transform

from monitor.fragments import Fragments

T = TypeVar("T")

Outcome = Literal[
    "ok", "ok_length", "filtered", "empty", "truncated", "unconfirmed", "error_in_stream",
    "rate_limited", "quota_exhausted", "http_4xx", "http_5xx", "redirect", "non_json_200", "auth_error",
    "unsupported_param", "timeout_first_byte", "stalled", "connect_error", "address_refused", "tls_trust",
    "tls_dropped", "undecodable_encoding", "client_limit", "not_run",
]  # fmt: skip
"""How one request ended (DESIGN section 5)."""

ANSWERED: frozenset[str] = frozenset({"ok", "ok_length"})
"""Outcomes that carry a complete answer."""

NOT_THE_ENDPOINTS_FAULT: frozenset[str] = frozenset(
    {"rate_limited", "quota_exhausted", "auth_error", "unsupported_param", "filtered", "client_limit", "tls_trust",
     "address_refused", "not_run"}
)  # fmt: skip
"""Outcomes that availability reports apart, since they are no fault of the endpoint."""

BROKEN_TOOL_CALL = "broken_tool_call"
"""What availability calls a complete answer with a call that cannot be used; no outcome."""

End = Literal[
    "complete",  # the body ended as its framing promised
    "unclean",  # the peer closed before the framing was complete
    "reset",  # the peer reset the connection
    "connect_error", "tls_trust", "tls_dropped",
    "address_refused",  # our own guard let no connection be made
    "timeout_first_byte", "stalled", "client_limit",
    "cancelled",
    "unsupported",  # the protocol cannot say what the request requires: nothing was sent
]  # fmt: skip
"""How the transport of one request ended; the decoder turns it into an `Outcome`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model behind an address, as the configuration declares it. Holds no key.

    ``name`` is ``provider/short-name`` and unique; ``model`` is what requests say; ``precision`` is what the
    provider declares it serves (``bf16``, ``fp8``, ...). Prices are USD per million tokens. ``dialect`` names how the
    provider words the protocol (None: as its inventor does), ``upstream`` the provider that a router is to use.
    """

    name: str
    provider: str
    base_url: str
    model: str
    protocol: str = "openai_chat"
    dialect: str | None = None
    upstream: str | None = None
    reference: str | None = None
    precision: str | None = None
    context: int | None = None
    price_in_usd: float | None = None
    price_out_usd: float | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a probe wants, said once and independent of the protocol.

    ``messages`` and ``tools`` have the OpenAI chat shape. ``top_logprobs`` None asks for no logprobs.
    ``prompt_id`` names the prompt within its set (the cluster of the statistics). ``fresh_connection`` asks for a
    connection that carried no request before (the cold start of a pair).

    ``prompt`` is raw text to continue, to which no template is applied. It is another way of saying ``messages``: a
    protocol that takes raw text says ``prompt`` when there is one, the others say ``messages``. ``echo`` asks for the
    prompt (and its logprobs) before the answer, ``reasoning_off`` for an answer without thinking.

    ``extra`` are further fields of the body, in the words of the OpenAI chat protocol (``tool_choice``, ``stop``,
    ``n``, ``response_format``, ...); only that protocol says them.

    ``optional`` names the fields that may be left out where a protocol or dialect cannot say them (the exchange is
    flagged ``not_sent:<field>``); any other field is a requirement: then nothing is sent, and the outcome is
    ``unsupported_param``.
    """

    prompt_id: str
    messages: tuple[Mapping[str, Any], ...]
    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    top_logprobs: int | None = None
    stream: bool = True
    tools: tuple[Mapping[str, Any], ...] = ()
    prompt: str | None = None
    echo: bool = False
    reasoning_off: bool = False
    fresh_connection: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    optional: tuple[str, ...] = ("seed", "reasoning_off")


class Read(NamedTuple):
    """What one read of the body returned, and when (`perf_counter_ns`)."""

    at_ns: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """All that was seen of one HTTP attempt, undecoded. Every number of an `Exchange` is a function of it.

    ``reads`` are the body after HTTP framing (dechunked), headers apart. All ``_ns`` stamps are absolute on one
    monotonic clock, except ``dns_ns``, ``connect_ns``, ``tls_ns``, which are durations. ``t0_ns`` is the first byte
    of the request written on an already acquired connection; ``eof_ns`` the end of the body, however it ended.
    ``sent`` is the exact request body; keys are in headers and never here. ``error`` is class and message, redacted.
    ``transport_retry`` is 1 when a kept-alive connection turned out to be closed before any byte of the answer, and the
    request was written again on a fresh one; all stamps are then those of the fresh one. ``transport`` names what
    carried the bytes: ``wire`` is our own transport, ``httpx``, ``httpx+http2`` and ``httpx+proxy`` the stock one,
    whose stamps are later than the reads (docs/benchmarks.md). ``departures`` are the flags for what ``sent`` says
    otherwise than ``request``, since the protocol or the dialect has no word for it.
    """

    request: Request | None = None
    protocol: str = "openai_chat"
    sent: bytes = b""
    departures: tuple[str, ...] = ()
    started_at: datetime | None = None
    attempt: int = 1
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    reads: tuple[Read, ...] = ()
    end: End = "complete"
    error: str | None = None
    t0_ns: int | None = None
    dns_ns: int | None = None
    connect_ns: int | None = None
    tls_ns: int | None = None
    sent_ns: int | None = None
    first_byte_ns: int | None = None
    eof_ns: int | None = None
    reused: bool | None = None
    transport: str | None = None
    transport_retry: int = 0
    lag_ms: float | None = None

    def header(self, name: str) -> str | None:
        """Value of the first header of this name (case-insensitive), or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    @property
    def body(self) -> bytes:
        """All reads joined."""
        return b"".join(read.data for read in self.reads)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call as received: ``arguments`` is the text, not parsed."""

    id: str | None
    name: str | None
    arguments: str


@dataclass_transform(frozen_default=True)
def _light(noun: type[T]) -> type[T]:
    """Make a dataclass that is frozen to the type checker only.

    An answer has thousands of these, and a frozen one takes four times as long to make.
    """
    return dataclass(slots=True, unsafe_hash=True)(noun)


@_light
class TopToken:
    """One alternative at a position. ``logprob`` is None where the endpoint's value is masked or unusable."""

    token: str
    logprob: float | None
    bytes: tuple[int, ...] | None = None
    id: int | None = None


class _ReadAsTuple:
    """Has `monitor.codec.decode` make a tuple, which can be hashed, where the annotation says sequence."""

    def __get_pydantic_core_schema__(self, _source: Any, handler: Any) -> Any:
        return handler.generate_schema(tuple[TopToken, ...])


@_light
class TokenLogprob:
    """The sampled token at one position of the answer, with the endpoint's alternatives in its own order.

    ``top`` is a tuple, or what equals it and makes its alternatives only when they are looked at.
    """

    token: str
    logprob: float | None
    bytes: tuple[int, ...] | None = None
    id: int | None = None
    top: Annotated[Sequence[TopToken], _ReadAsTuple()] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One choice of an answer, reassembled. ``prompt_logprobs`` are those of an echoed prompt."""

    index: int = 0
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    finish_raw: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_logprobs: tuple[TokenLogprob, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The decoded record of one request (DESIGN section 5). Times in ms from t0; None where not measured.

    ``exchange_id`` and ``run_id`` are empty until a probe has put the exchange into a run. ``first_tokens`` is the
    number of tokens in the first token event (n1 of TPOT) where the endpoint told it, by usage or logprobs.
    ``error`` is evidence for people: an endpoint's own words (first 200 characters) or the transport's error.
    """

    exchange_id: str = ""
    run_id: str = ""
    request: Request | None = None
    protocol: str = "openai_chat"
    started_at: datetime | None = None
    sent_sha256: str | None = None
    outcome: Outcome
    status: int | None = None
    attempt: int = 1
    retry_after_s: float | None = None
    error: str | None = None
    choices: tuple[Choice, ...] = ()
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    fingerprint: str | None = None
    request_id: str | None = None
    done: bool = False
    first_event_ms: float | None = None
    ttft_ms: float | None = None
    ttfo_ms: float | None = None
    last_token_ms: float | None = None
    done_ms: float | None = None
    eof_ms: float | None = None
    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    sent_ms: float | None = None
    first_byte_ms: float | None = None
    reused: bool | None = None
    transport: str | None = None
    transport_retry: int = 0
    lag_ms: float | None = None
    error_bound_ms: float | None = None
    measurement: str | None = None
    token_events: int | None = None
    events: int | None = None
    comments: int | None = None
    ignored_events: int | None = None
    unknown_lines: int | None = None
    parse_errors: int | None = None
    usage: Mapping[str, Any] | None = None
    first_tokens: int | None = None
    tokens_golden: int | None = None
    tokens_from: Literal["golden", "usage"] | None = None
    tpot_ms: float | None = None
    tps: float | None = None
    events_per_token: float | None = None
    fragments: tuple[Fragments, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def choice(self) -> Choice:
        """Choice 0, or an empty choice when the answer has none."""
        return self.choices[0] if self.choices else Choice()

    @property
    def answered(self) -> bool:
        """Whether a complete answer came back."""
        return self.outcome in ANSWERED
