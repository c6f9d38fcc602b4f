"""First positions of logprobs runs as calls of backends, for `logprob_history`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.evidence import prompt_of
from monitor.history import Past
from monitor.results import GoldenView
from monitor.stats.known import Known, known_backends, nearest
from monitor.types import Exchange
from monitor.wire.usage import read_usage

LEAST_NATS = -50.0
"""Logprobs below this are an endpoint's word for "masked"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call beside the backends known for its prompt. ``distance`` and ``noise`` are in nats per token.

    ``label`` is what the endpoint calls its backend, ``golden`` the mean absolute difference from golden's logprobs.
    """

    run: int
    label: str
    distance: float
    noise: float
    golden: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baseline:
    """What is known of one prompt: its tokens, in the order of the centres, and how many prompt tokens were counted."""

    tokens: tuple[str, ...]
    known: Known
    counts: frozenset[float]


def baselines(runs: Sequence[Past], *, least_calls: int) -> dict[str, Baseline]:
    """What `runs` say of each prompt that has at least `least_calls` usable calls in them."""
    by_prompt: dict[str, list[Exchange]] = {}
    for past in runs:
        for exchange in past.exchanges:
            if listed(exchange):
                by_prompt.setdefault(prompt_of(exchange), []).append(exchange)
    named = are_backends([label_of(exchange) for some in by_prompt.values() for exchange in some])
    found = {name: _baseline(some, named=named) for name, some in by_prompt.items() if len(some) >= least_calls}
    return {name: one for name, one in found.items() if one is not None}


def calls_of(
    runs: Sequence[Past], known: Mapping[str, Baseline], views: Mapping[str, GoldenView], *, noise: float
) -> list[Call]:
    """Put each usable call of `runs` beside what is `known` of its prompt. Noise is `noise` where it is not known."""
    calls = []
    for number, past in enumerate(runs):
        for exchange in past.exchanges:
            one, seen = known.get(prompt_of(exchange)), listed(exchange)
            if one is None or not seen:
                continue
            vector = np.array([seen.get(token, np.nan) for token in one.tokens])
            own = noise if one.known.noise is None else one.known.noise
            distance = nearest(one.known, vector, least=min(seen.values()))
            golden = _from_golden(views.get(exchange.exchange_id))
            calls.append(Call(run=number, label=label_of(exchange), distance=distance, noise=own, golden=golden))
    return calls


def recounted(runs: Sequence[Past], known: Mapping[str, Baseline]) -> tuple[int, int]:
    """How many exchanges of `runs` count prompt tokens as none of the baseline did, of how many that can tell."""
    changed = total = 0
    for past in runs:
        for exchange in past.exchanges:
            one, count = known.get(prompt_of(exchange)), read_usage(exchange.usage or {}).input_total
            if one is not None and one.counts and count is not None:
                total += 1
                changed += count not in one.counts
    return changed, total


def listed(exchange: Exchange) -> dict[str, float]:
    """Logprobs of the first position by token; empty where there are none that can be used."""
    entries = exchange.choice.logprobs or ()
    if not entries:
        return {}
    pairs = [(entries[0].token, entries[0].logprob), *((top.token, top.logprob) for top in entries[0].top)]
    return {token: value for token, value in pairs if value is not None and LEAST_NATS < value <= 0}


def label_of(exchange: Exchange) -> str:
    """What the endpoint says of the backend: upstream provider and system fingerprint."""
    return " ".join((*exchange.providers, exchange.fingerprint or "")).strip()


def are_backends(labels: Sequence[str]) -> bool:
    """Whether labels name backends: some that come again, not one for every answer."""
    counts = Counter(labels)
    return len(counts) > 1 and len(counts) * 3 <= len(labels)


def _baseline(exchanges: Sequence[Exchange], *, named: bool) -> Baseline | None:
    rows = [listed(exchange) for exchange in exchanges]
    tokens = tuple(sorted(set.intersection(*(set(row) for row in rows))))
    if not tokens:
        return None
    vectors = [[row[token] for token in tokens] for row in rows]
    labels = [label_of(exchange) for exchange in exchanges] if named else None
    seen = [read_usage(exchange.usage or {}).input_total for exchange in exchanges]
    counts = frozenset(count for count in seen if count is not None)
    return Baseline(tokens=tokens, known=known_backends(vectors, labels), counts=counts)


def _from_golden(view: GoldenView | None) -> float | None:
    first = next((one for one in view.positions if one.position == 0), None) if view is not None else None
    if first is None or not first.endpoint_top:
        return None
    return float(np.abs(np.subtract(first.endpoint_top, first.golden_top)).mean())
