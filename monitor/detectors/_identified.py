"""What an identification can compare: logprobs of the endpoint, or its tokens alone, with those of every variant."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.alternatives import alternatives
from monitor.detectors._calls import LEAST_NATS
from monitor.detectors._identified_draws import DrawnAnswer, drawn_answers, draws_of, other_sampler
from monitor.evidence import after_sampler, asked_by, prompt_of, split_is_known
from monitor.results import Evidence, GoldenPosition, Prediction
from monitor.stats.checks import Floats
from monitor.stats.matched import Match, match
from monitor.stats.matched_text import match_text
from monitor.types import Exchange

_FEWEST_OPTIONS = 2
_LABEL = 60


@dataclass(frozen=True, slots=True)
class Row:
    """One position: logprobs of the same tokens by the endpoint, golden and every variant."""

    prompt: str
    endpoint: Floats
    golden: Floats
    predicted: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Choice:
    """One position: logprobs of the same tokens by golden and every variant, and which one the endpoint took."""

    prompt: str
    chosen: int
    golden: Floats
    predicted: Mapping[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparable:
    """What can be compared: ``rows`` where logprobs say something of the weights, else ``choices`` and ``drawn``.

    ``is_sampled``: the endpoint's logprobs are those after the sampler. ``sampler`` is what explains drawn tokens
    better than any weights do: those are then left out.
    """

    rows: tuple[Row, ...] = ()
    choices: tuple[Choice, ...] = ()
    drawn: tuple[DrawnAnswer, ...] = ()
    is_sampled: bool = False
    sampler: str | None = None

    @property
    def n_prompts(self) -> int:
        """Different prompts that were answered."""
        text = {one.prompt for one in self.choices} | {one.prompt for one in self.drawn}
        return len({one.prompt for one in self.rows} or text)

    def match(self, families: Mapping[str, str], faithful_nats: float) -> Match | None:
        """Weigh the variants, of which `families` are told by name; None where nothing can be compared."""
        if self.rows:
            rows = self.rows
            return match([one.endpoint for one in rows], [one.golden for one in rows], _by_name(rows), families,
                         [one.prompt for one in rows], faithful_nats=faithful_nats)  # fmt: skip
        if not self.choices and not self.drawn:
            return None
        some, names = self.choices, [*(self.choices or self.drawn)[0].predicted]
        clusters = [one.prompt for one in some] + [one.prompt for one in self.drawn for _ in one.view.positions]
        return match_text(
            [one.golden for one in some], {name: [one.predicted[name] for one in some] for name in names},
            [one.chosen for one in some], families, clusters, faithful_nats=faithful_nats,
            drawn=draws_of(self.drawn, names),
        )  # fmt: skip


def comparable(evidence: Evidence, probes: Collection[str], *, fewest: int = 1) -> Comparable:
    """Return what `probes` brought that can be compared: logprobs of at least `fewest` prompts, else choices."""
    rows = tuple(_rows(evidence, probes))
    sampled = after_sampler(place for _, view in asked_by(evidence, probes) for place in view.positions)
    if len({one.prompt for one in rows}) >= fewest and not sampled:
        return Comparable(rows=rows)
    drawn = drawn_answers(evidence, probes)
    sampler = other_sampler(drawn)
    return Comparable(
        choices=tuple(_choices(evidence, probes)), drawn=() if sampler else drawn, is_sampled=sampled, sampler=sampler
    )


def by_backend(evidence: Evidence, probes: Collection[str]) -> dict[str, Evidence]:
    """Return the evidence of each backend that the endpoint says to have answered, by upstream and fingerprint."""
    groups: dict[str, list[Exchange]] = {}
    for exchange, _ in asked_by(evidence, probes):
        label = " ".join(filter(None, (*exchange.providers, exchange.fingerprint)))
        groups.setdefault(label[:_LABEL], []).append(exchange)
    return {label: replace(evidence, exchanges=tuple(some)) for label, some in groups.items()}


def _by_name(some: Sequence[Row]) -> dict[str, list[Floats]]:
    return {name: [one.predicted[name] for one in some] for name in some[0].predicted}


def _rows(evidence: Evidence, probes: Collection[str]) -> Iterator[Row]:
    for exchange, place, known in _places(evidence, probes, evidence.predictions):
        if not place.endpoint_top:
            continue
        table = np.stack([np.asarray(place.endpoint_top), np.asarray(place.golden_top), *known.values()])
        kept = table[:, np.isfinite(table).all(axis=0) & (table[0] > LEAST_NATS)]
        if kept.shape[1]:
            yield Row(prompt_of(exchange), kept[0], kept[1], dict(zip(known, kept[2:], strict=True)))


def _choices(evidence: Evidence, probes: Collection[str]) -> Iterator[Choice]:
    """Choices; samplers are left out, which take the same first choice as golden weights do. What is drawn is none."""
    variants = [one for one in evidence.predictions if one.cause != "sampler"]
    for exchange, place, known in _places(evidence, probes, variants):
        if not place.endpoint_top and exchange.request and exchange.request.temperature:
            continue
        options = alternatives(place)
        golden = np.asarray(place.golden_top) if place.endpoint_top else np.array([*options.values()])
        if place.endpoint_top:
            chosen = int(np.argmax(place.endpoint_top))
        elif options:
            chosen = list(options).index(place.token_id)
        else:
            continue
        table = np.stack([golden, *known.values()])
        kept = np.isfinite(table).all(axis=0)
        if kept[chosen] and (kept.sum() >= _FEWEST_OPTIONS or not place.endpoint_top):
            rows = table[:, kept]
            yield Choice(
                prompt_of(exchange), int(kept[:chosen].sum()), rows[0], dict(zip(known, rows[1:], strict=True))
            )


def _places(
    evidence: Evidence, probes: Collection[str], variants: Sequence[Prediction]
) -> Iterator[tuple[Exchange, GoldenPosition, dict[str, Floats]]]:
    """Positions of which every variant knows something, with the exchange."""
    for exchange, view in asked_by(evidence, probes):
        known = {one.variant: one.logprobs.get(exchange.exchange_id, ()) for one in variants}
        if not known or not split_is_known(view):
            continue
        for at, place in enumerate(view.positions):
            rows = {name: np.asarray(values[at]) for name, values in known.items() if at < len(values)}
            if len(rows) == len(known):
                yield exchange, place, rows
