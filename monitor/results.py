"""The nouns of measuring and judging: metrics, runs, golden views and verdicts.

The same conventions as in `monitor.types` hold: units in suffixes, None for what was not measured, frozen, JSON-able.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from monitor.suites.tally import Tally
from monitor.tools.draws import ToolDraws
from monitor.types import Endpoint, Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The card of a measured number: what docs, dashboard labels and checks derive from."""

    name: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    definition: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One measured number of a run. ``value`` None means: could not be measured, ``reason`` says why.

    ``k`` of ``n`` for rates; ``n`` is the sample size for means and quantiles.
    """

    metric: str
    value: float | None
    n: int
    k: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a probe against one endpoint.

    ``maintenance`` is the reason of the maintenance window that it ran in, None outside of all: nobody is alerted.
    ``clock_offset_s`` is how far the prober's clock was ahead of the store's when they last spoke, None before.
    """

    run_id: str
    endpoint: str
    provider: str
    model: str
    reference: str | None
    probe: str
    probe_version: int
    params_sha256: str
    seed: int
    vantage: str
    prober_version: str
    started_at: datetime
    finished_at: datetime
    slot_at: datetime | None = None
    lag_ms: float | None = None
    n_exchanges: int = 0
    n_answered: int = 0
    maintenance: str | None = None
    clock_offset_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run with everything measured in it: the unit that travels from agent to store and judge."""

    run: Run
    exchanges: tuple[Exchange, ...]
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What exactly the golden side is: content hashes and versions. ``digest`` is the hash of all the others.

    ``generation_sha256`` is None for a model without a generation config; ``revision`` is what the golden folder was
    built from, where that has revisions.
    """

    digest: str
    weights_sha256: str
    tokenizer_sha256: str
    template_sha256: str
    dtype: str
    engine: str
    versions: Mapping[str, str] = field(default_factory=dict)
    generation_sha256: str | None = None
    revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenPosition:
    """The golden model's view of one position of an endpoint's answer, aligned with the endpoint's alternatives.

    ``endpoint_top`` and ``golden_top`` are logprobs of the *same* tokens (those that the endpoint listed), in the
    endpoint's order, natural log; empty where the endpoint gave none. ``endpoint_at_golden_top1`` is None when the
    endpoint did not list golden's most likely token, ``top1_same`` when it listed nothing. Where the golden side knows
    only its most likely tokens (a server, a pack), logprob, rank and entropy are None, and the pair of tops holds the
    tokens that it knows.

    ``rivals`` are golden's likeliest tokens with their logprobs, for answers of which only the text is known: the ones
    that another engine might have taken.

    For answers sampled at temperature 1, where the golden side knows the whole distribution: ``mass_above`` is the
    probability of all tokens likelier than the given one, ``said_mass`` that of the tokens said before in this answer,
    ``was_said`` whether the given one is among them, ``log_norms`` the ln Z of `monitor.stats.samplers.RULES`.
    """

    position: int
    token_id: int
    golden_logprob: float | None
    golden_rank: int | None
    golden_entropy_nats: float | None
    golden_top1_logprob: float
    endpoint_logprob: float | None
    endpoint_at_golden_top1: float | None
    top1_same: bool | None
    endpoint_top: tuple[float, ...] = ()
    golden_top: tuple[float, ...] = ()
    rivals: tuple[tuple[int, float], ...] = ()
    mass_above: float | None = None
    said_mass: float | None = None
    was_said: bool | None = None
    log_norms: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenView:
    """What the golden side says about one exchange.

    ``prompt_tokens`` is the length of the prompt rendered with the golden template and tokenizer, ``prompt_parts`` its
    tokens by part (``system``, ``tools``, ``history``, ``stub``). ``tokens_from`` says where the tokens of the answer
    were taken from: the endpoint's logprob entries, or its text in the golden tokenizer's own split. ``canonical`` says
    whether the endpoint's tokens are those that the golden tokenizer makes of their text; where only text is there, it
    is False when the endpoint counts another number of tokens, and None when it counts none. ``problem`` says what of
    the answer could not be compared, and why. ``completion_tokens`` is the length of the whole answer in golden tokens,
    None where only a part of it is known.
    """

    exchange_id: str
    run_id: str
    prompt_tokens: int | None
    prompt_parts: Mapping[str, int] = field(default_factory=dict)
    tokens_from: Literal["logprobs", "text"] | None = None
    canonical: bool | None = None
    completion_tokens: int | None = None
    positions: tuple[GoldenPosition, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """What the golden side added to a run. Its presence marks the run as judged."""

    run_id: str
    endpoint: str
    judged_at: datetime
    fingerprint: Fingerprint | None
    views: tuple[GoldenView, ...]
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerances:
    """What faithful servers of a reference may show, by metric and declared precision (`monitor.tolerances`).

    ``by_metric[metric][precision]`` is in the metric's unit; precision ``full`` is 16 bit and above. ``weights_sha256``
    is that of the golden weights which were calibrated.
    """

    weights_sha256: str
    by_metric: Mapping[str, Mapping[str, float]]

    def allowed(self, metric: str, precision: str) -> float | None:
        """Return the tolerance; None when this metric was not calibrated for this precision."""
        return self.by_metric.get(metric, {}).get(precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a variant of the golden weights would have said where an endpoint answered.

    ``cause`` is the layer that the variant changes. ``logprobs`` by ``exchange_id`` are one row per golden position,
    aligned with its ``endpoint_top``, or where that is empty with its `monitor.alternatives`; NaN where not known.
    """

    variant: str
    family: str
    cause: str
    logprobs: Mapping[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a detector may look at: exchanges of one endpoint, golden views by ``exchange_id``.

    ``history`` are earlier runs of the newest run's probe, oldest first, as many as the detector looks back
    (`monitor.ports.Detector.looks_back`). ``samples`` are golden answers (token ids, without the end token) by
    ``prompt_id``, to the requests that were sampled. ``tolerances`` are calibrated for the reference, None where it is
    not calibrated: detectors then go by their own defaults. ``predictions`` are there where they were asked for,
    ``suite_golden`` is what golden makes of the cases of a suite. ``answers`` are golden's own answers to some of the
    requests, by the ``exchange_id`` of the endpoint's.
    """

    endpoint: Endpoint
    runs: tuple[Run, ...]
    exchanges: tuple[Exchange, ...]
    golden: Mapping[str, GoldenView] = field(default_factory=dict)
    fingerprint: Fingerprint | None = None
    history: tuple[RunRecord, ...] = ()
    samples: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    tolerances: Tolerances | None = None
    predictions: tuple[Prediction, ...] = ()
    tool_draws: Mapping[str, ToolDraws] = field(default_factory=dict)
    suite_golden: tuple[Tally, ...] = ()
    answers: Mapping[str, Exchange] = field(default_factory=dict)


Status = Literal["pass", "suspect", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a detector concluded. A verdict without n, effect and interval is not a verdict.

    ``effect`` with ``low`` and ``high`` is the measured size in ``unit``; ``threshold`` what it was compared with;
    ``mde`` the smallest effect that this run could have seen. ``cause`` names the layer at fault, None when nothing
    is. ``details`` holds numbers and short strings for tables, never model text.
    """

    verdict_id: str
    endpoint: str
    detector: str
    detector_version: int
    at: datetime
    status: Status
    cause: str | None
    statistic: str
    effect: float | None
    unit: str
    low: float | None
    high: float | None
    n: int
    threshold: float | None
    p_value: float | None = None
    e_value: float | None = None
    mde: float | None = None
    band: str | None = None
    reason: str
    run_ids: tuple[str, ...]
    fingerprint: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
