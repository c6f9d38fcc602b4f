"""The seams: what the rest of the program may ask of clients, golden engines, clocks, spools and stores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from monitor.results import Evidence, Fingerprint, Metric, Observation, Verdict
from monitor.types import Capture, Exchange, Request

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Client(Protocol):
    """Asks one model. One call is one attempt: no retries, no redirects, no exception for what an endpoint does."""

    async def send(self, request: Request) -> Capture:
        """Send `request` and return all that came back, with stamps. Only cancellation is raised."""
        ...

    async def aclose(self) -> None:
        """Release connections or memory. Idempotent."""
        ...


class Tokenizer(Protocol):
    """The golden template and tokenizer. Needs no weights."""

    def prompt_ids(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """Token ids of the conversation rendered with the golden chat template, ready for an answer."""
        ...

    def prompt_parts(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Mapping[str, int]:
        """Tokens of the rendered prompt by part: ``system``, ``tools``, ``history``, ``stub``."""
        ...

    def encode(self, text: str) -> list[int]:
        """Canonical token ids of `text`, without special tokens added."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`, special tokens included."""
        ...

    def token_id(self, token: str, raw: Sequence[int] | None = None) -> int | None:
        """Id of the one token that is exactly these bytes (`raw`, else UTF-8 of `token`); None if there is none."""
        ...

    @property
    def eos_ids(self) -> frozenset[int]:
        """Ids that end an answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTask:
    """A prompt and an answer to teacher-force. ``gather[t]`` are ids whose logprobs are wanted at position t.

    ``drawn`` says that the answer was sampled at temperature 1, and asks for what tests of samplers need.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    gather: tuple[tuple[int, ...], ...] = ()
    drawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Golden view of an answer of T tokens. Position t is conditioned on the prompt and the t tokens before it.

    ``logprob`` (T,) of the given token, ``rank`` (T,) with 0 the most likely, ``entropy_nats`` (T,),
    ``top_ids`` and ``top_logprobs`` (T, k) in descending order, ``gathered[t]`` aligned with ``ScoreTask.gather[t]``.

    Of ``drawn`` tasks, where the engine knows the whole distribution: ``mass_above`` (T,) the probability of all
    likelier tokens, ``said_mass`` (T,) that of the tokens which the answer holds before t, ``log_norms`` (T, rules) the
    ln Z of `monitor.stats.samplers.RULES`.
    """

    logprob: Floats
    rank: Ints
    entropy_nats: Floats
    top_ids: Ints
    top_logprobs: Floats
    gathered: tuple[Floats, ...]
    mass_above: Floats | None = None
    said_mass: Floats | None = None
    log_norms: Floats | None = None


class Scorer(Protocol):
    """Golden weights that teacher-force tokens."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What exactly is scoring."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer and template that belong to the weights."""
        ...

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        """Score all `tasks` in batched forwards; results in the order of `tasks`."""
        ...

    def close(self) -> None:
        """Give back connections, threads, processes and memory. Idempotent."""
        ...


@runtime_checkable
class WantsSamples(Protocol):
    """A detector that compares with golden answers (``Evidence.samples``): `draws` of them for every prompt."""

    @property
    def draws(self) -> int:
        """How many golden answers to each prompt."""


@runtime_checkable
class NeedsNoWords(Protocol):
    """A detector of all probes that judges how requests ended: it hears of private suites too, which keep no words."""

    needs_no_words: ClassVar[bool]


@runtime_checkable
class JudgesAlone(Protocol):
    """A detector that looks back and judges without earlier runs too; ``details["n_before"]`` says how many it used."""

    judges_alone: ClassVar[bool]


@runtime_checkable
class WantsAnswers(Protocol):
    """A detector that compares with golden's own answers to the same requests (``Evidence.answers``)."""

    @property
    def paired(self) -> tuple[str, ...]:
        """The kinds of probes whose requests golden is to answer too."""
        ...


@runtime_checkable
class WantsPredictions(Protocol):
    """A detector that compares with what variants of the golden weights would say (``Evidence.predictions``)."""

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of those variants; empty for all that can be predicted."""
        ...


@runtime_checkable
class Sampler(Protocol):
    """Golden weights that draw answers: engines that compute, and packs that hold drawn ones."""

    def draw(self, prompts: Sequence[Sequence[int]], *, n: int, max_tokens: int, seed: int) -> list[list[list[int]]]:
        """Draw `n` answers at temperature 1 to each of `prompts` (token ids), as token ids without the end token.

        Raises GoldenError when it cannot.
        """
        ...


class Predictor(Protocol):
    """Golden weights that say what variants of them would say (`reference.variants`)."""

    def predict(
        self, tasks: Sequence[ScoreTask], variants: Sequence[str], *,
        conversations: Sequence[Sequence[Mapping[str, Any]]] = (),
    ) -> Mapping[str, list[tuple[Floats, ...]]]:  # fmt: skip
        """Return by variant, for each of `tasks`, the logprobs of the tokens in its ``gather``; NaN where unknown.

        Variants that cannot be predicted are left out. `conversations` are the messages behind the prompts.
        """
        ...


class Clock(Protocol):
    """Wall time and monotonic time."""

    def now(self) -> datetime:
        """Aware UTC wall time."""
        ...

    def monotonic_ns(self) -> int:
        """Monotonic nanoseconds, comparable with `Capture` stamps."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One record on its way to the store.

    ``data`` is `monitor.codec.encode` of the noun that ``kind`` names: ``endpoint`` Endpoint, ``run`` RunRecord,
    ``slot`` Slot, ``judged`` JudgedRun, ``verdict`` Verdict, ``incident`` Incident.
    """

    seq: int
    kind: str
    data: bytes


class Spool(Protocol):
    """Where a writer keeps records until the store has them. Survives a kill at any point."""

    @property
    def writer(self) -> str:
        """Stable name of the writer, unique per spool file."""
        ...

    def append(self, records: Iterable[tuple[str, bytes]], notes: Mapping[str, bytes] = ...) -> int:
        """Append (kind, data) records atomically; return the last sequence number. Raises SpoolFullError.

        `notes` are what the writer wants to know again after a restart, by name; they are replaced with the append,
        and empty ones taken away.
        """
        ...

    def notes(self) -> Mapping[str, bytes]:
        """What the writer noted."""
        ...

    def pending(self, limit: int) -> list[Entry]:
        """The oldest records that the store has not confirmed."""
        ...

    def confirm(self, seq: int) -> None:
        """Forget all records up to and including `seq`."""
        ...

    def backlog(self) -> int:
        """Number of records that the store has not confirmed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeContext:
    """What a probe is given besides the client.

    ``seed`` makes its choices repeatable, ``concurrency`` caps requests in flight to one provider, ``report`` is
    called with (done, total) after every request.
    """

    clock: Clock
    seed: int
    concurrency: int
    report: Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What a probe measured, with the captures that the numbers can be recomputed from (same order)."""

    captures: tuple[Capture, ...]
    exchanges: tuple[Exchange, ...]
    observations: tuple[Observation, ...]


class Probe(Protocol):
    """How to ask. A frozen dataclass whose fields are its configuration; one file, constant ``PROBE``."""

    kind: ClassVar[str]
    version: ClassVar[int]
    metrics: ClassVar[tuple[Metric, ...]]

    def requests(self, seed: int) -> tuple[Request, ...]:
        """What one run asks, known before it runs."""
        ...

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask and measure. Raises only on cancellation or our own bug."""
        ...


class Detector(Protocol):
    """How to judge. A frozen dataclass whose fields are its thresholds; one file, constant ``DETECTOR``.

    ``probes`` are the kinds of probes that feed it, None for any. ``looks_back`` is how many earlier runs of the same
    probe it wants in ``Evidence.history``.
    """

    kind: ClassVar[str]
    version: ClassVar[int]
    probes: ClassVar[frozenset[str] | None]
    looks_back: ClassVar[int]
    metrics: ClassVar[tuple[Metric, ...]]

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge `evidence`. Too little evidence is ``inconclusive`` with the reason, never an exception."""
        ...
