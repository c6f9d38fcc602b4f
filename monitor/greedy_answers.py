"""Greedy answers as golden sees them, token by token: what the detectors of temperature-0 runs share."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from monitor.evidence import (
    after_sampler,
    asked_by,
    is_misread,
    mostly_misread,
    not_answered,
    prompt_of,
    split_is_known,
)
from monitor.results import Evidence, GoldenPosition, GoldenView, Status
from monitor.stats.divergence import tail_bucket_kl
from monitor.types import Exchange
from monitor.wire.usage import read_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyAnswer:
    """One answer of T scored tokens.

    ``margins`` (T,) are golden logprobs of its likeliest token minus those of the given one, in nats: 0 where both
    agree, infinite where the given token is beyond all that golden knows. ``kls`` (T,) are tail-bucket divergences
    from golden in nats, None where the endpoint listed nothing. ``places`` (T,) are positions in the answer.
    """

    prompt_id: str
    exchange: Exchange
    view: GoldenView
    places: tuple[int, ...]
    margins: tuple[float, ...]
    kls: tuple[float | None, ...]

    @property
    def listed(self) -> list[tuple[int, float]]:
        """Place and divergence of the positions at which the endpoint listed alternatives."""
        return [(place, kl) for place, kl in zip(self.places, self.kls, strict=True) if kl is not None]

    def stretches(self, size: int) -> list[float]:
        """Mean divergence in nats of each `size` listed positions in turn; the last stretch may be shorter."""
        found = [kl for _, kl in self.listed]
        return [sum(found[at : at + size]) / len(found[at : at + size]) for at in range(0, len(found), size)]


def greedy_answers(evidence: Evidence, probes: Collection[str]) -> tuple[list[GreedyAnswer], int]:
    """Return the answers of `probes` that golden has scored, in the order of asking, and how many were left out.

    Left out are answers without logprobs whose number of tokens, as the endpoint counts them, is not that of the golden
    tokenizer's split: which tokens they had is not known then.
    """
    scored = [(exchange, view) for exchange, view in asked_by(evidence, probes) if view.positions]
    known = [(exchange, view) for exchange, view in scored if split_is_known(view)]
    return [_answer(exchange, view) for exchange, view in known], len(scored) - len(known)


def says_after_temperature(answers: Sequence[GreedyAnswer]) -> bool:
    """Whether the endpoint's logprobs are those after temperature 0."""
    return after_sampler(position for answer in answers for position in answer.view.positions)


def by_text(answers: Sequence[GreedyAnswer]) -> list[GreedyAnswer]:
    """Return `answers` as their text alone shows them: without divergences."""
    return [replace(answer, kls=(None,) * len(answer.kls)) for answer in answers]


def _answer(exchange: Exchange, view: GoldenView) -> GreedyAnswer:
    return GreedyAnswer(
        prompt_id=prompt_of(exchange), exchange=exchange, view=view,
        places=tuple(position.position for position in view.positions),
        margins=tuple(margin(position) for position in view.positions),
        kls=tuple(_kl(position) for position in view.positions),
    )  # fmt: skip


def margin(position: GoldenPosition) -> float:
    """How much likelier golden's first choice is than the given token, nats."""
    if position.golden_logprob is None:
        return math.inf
    return max(0.0, position.golden_top1_logprob - position.golden_logprob)


def _kl(position: GoldenPosition) -> float | None:
    return tail_bucket_kl(position.golden_top, position.endpoint_top) if position.endpoint_top else None


def prompt_fault(answers: Sequence[GreedyAnswer]) -> str | None:
    """Name the layer that changes the prompt, None where most prompts are as long as golden's.

    A template adds the same to every conversation of a shape; differences that follow the text are the tokenizer's.
    """
    pairs = [(answer.exchange, answer.view) for answer in answers]
    if not mostly_misread(pairs):
        return None
    shapes: dict[int, set[float]] = {}
    for exchange, view in pairs:
        reported = read_usage(exchange.usage or {}).input_total
        if is_misread(exchange, view) is not None and reported is not None and view.prompt_tokens is not None:
            n_messages = len(exchange.request.messages) if exchange.request else 0
            shapes.setdefault(n_messages, set()).add(reported - view.prompt_tokens)
    return "template" if all(len(deltas) == 1 for deltas in shapes.values()) else "tokenizer"


def named(status: Status, fault: tuple[str, str]) -> tuple[str | None, str]:
    """Return cause and words of a verdict: those of `fault` where it is at least suspect."""
    if status in {"pass", "inconclusive"}:
        return (None if status == "pass" else "undecided"), ""
    return fault


def nothing_to_judge(evidence: Evidence, probes: Collection[str], n_left_out: int) -> tuple[str, str]:
    """Return cause and words for why there is nothing, or too little, to judge."""
    if (found := not_answered(evidence, probes)) is not None:
        return found
    if n_left_out:
        return "not_comparable", f"{n_left_out} answers have other tokens than the golden tokenizer makes of their text"
    problems = sorted({view.problem for _, view in asked_by(evidence, probes) if view.problem})
    if problems:
        return "not_comparable", problems[0]
    return "too_few", "too few answers"
