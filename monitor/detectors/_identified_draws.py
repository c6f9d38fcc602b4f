"""Tokens that were drawn at temperature 1, as far as an identification can go by them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.evidence import asked_by, prompt_of
from monitor.results import Evidence, GoldenView
from monitor.sampled import LIKELY, is_own_split, is_plain, is_whole, sampled, weigh
from monitor.stats.checks import Floats
from monitor.stats.matched_draws import Draws


@dataclass(frozen=True, slots=True, eq=False)
class DrawnAnswer:
    """One answer: ``view`` holds the positions that are known to golden and to every variant.

    ``predicted`` are the logprobs of the drawn tokens by variant, one of each position.
    """

    prompt: str
    view: GoldenView
    predicted: Mapping[str, Floats]


def drawn_answers(evidence: Evidence, probes: Collection[str]) -> tuple[DrawnAnswer, ...]:
    """Answers of `probes` that were to be drawn plainly, and of which only the text is known.

    Samplers are left out of the variants: how it draws is looked at first (`other_sampler`).
    """
    variants = [one for one in evidence.predictions if one.cause != "sampler"]
    found = []
    for exchange, view in asked_by(evidence, probes):
        if not variants or not is_plain(exchange) or not is_own_split(exchange, view):
            continue
        rows = [one.logprobs.get(exchange.exchange_id, ()) for one in variants]
        kept = [
            at for at, place in enumerate(view.positions)
            if not place.endpoint_top and is_whole(place) and all(len(row) > at and _is_known(row[at]) for row in rows)
        ]  # fmt: skip
        if kept:
            known = {
                one.variant: np.array([row[at][0] for at in kept]) for one, row in zip(variants, rows, strict=True)
            }
            shown = replace(view, positions=tuple(view.positions[at] for at in kept))
            found.append(DrawnAnswer(prompt_of(exchange), shown, known))
    return tuple(found)


def draws_of(answers: Sequence[DrawnAnswer], names: Sequence[str]) -> Draws | None:
    """The drawn tokens of all `answers`, with the variants in the order of `names`; None where there are none."""
    tokens = sampled([one.view for one in answers])
    if tokens is None:
        return None
    rows = [np.concatenate([one.predicted[name] for one in answers]) for name in names]
    return Draws(drawn=tokens.drawn, predicted=rows)


def other_sampler(answers: Sequence[DrawnAnswer]) -> str | None:
    """What sampler explains the tokens better than plain draws from golden weights or any variant, in words.

    Golden weights behind the samplers of `monitor.stats.samplers`, mixed, are held against all weights behind none.
    Evidence of `LIKELY` nats is enough: tokens that were drawn otherwise would be taken for other weights. So may be
    tokens of weights that no variant predicts, which often look like another temperature.
    """
    tokens = sampled([one.view for one in answers])
    if tokens is None:
        return None
    own = tokens.drawn.logprob
    rows = [np.concatenate([one.predicted[name] for one in answers]) for name in answers[0].predicted]
    weights = max(0.0, *(float((row - own).sum()) for row in rows))
    seen = weigh(tokens)
    if seen.sampler_nats <= weights + LIKELY:
        return None
    kind, value = seen.best
    return f"{kind} {value:.3g}"


def _is_known(row: Sequence[float]) -> bool:
    return len(row) == 1 and bool(np.isfinite(row[0]))
