"""What tells the causes of flips apart: where they are, how far off they are, and in how many answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from monitor.divergence_profile import is_of_contexts, token_share
from monitor.greedy_answers import GreedyAnswer, prompt_fault
from monitor.stats.choices import Place, TokenShare
from monitor.stats.choices import token_share as choice_share
from monitor.stats.routing import RoutingShare

_SURE = 0.001  # one-sided p-value at which flips count as gathered early or late
_ALL_REQUESTS = 0.9  # a routed share surely below this is a share, and not all requests
_TIE_NATS = 1e-3  # by which an endpoint's own tokens must differ to say which it likes better
_OF_TOKENS = 0.2  # share of the errors behind choices, by text, below which they are not the weights'
_FAR_NATS = 20.0  # margins are cut here, where golden's probability is below 1e-8


@dataclass(frozen=True, slots=True)
class Half:
    """Flips in one half of the answers (None without any token), and how surely they gather there (one-sided)."""

    rate: float | None
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """Facts about the flips of some answers.

    ``mean_margin`` is over all tokens, ``median_margin`` over flips (None without any), in nats. ``cliffs`` counts
    answers with a token that no other weights of the model would choose, of ``flipped`` answers with any flip;
    ``clean_rate`` is the flip rate before the first such token, in those answers (None without any such token).

    With logprobs, else None: ``odd_choices`` is the share of flips at which the endpoint itself lists another token
    above the one it took, ``token_share`` what `monitor.divergence_profile.token_share` says, ``mean_kl`` the mean
    divergence in nats. ``choices`` is that share by text alone, where there is nothing else (`monitor.stats.choices`).
    """

    fault: str | None
    share: RoutingShare
    first: Half
    second: Half
    mean_margin: float
    median_margin: float | None
    cliffs: int
    flipped: int
    clean_rate: float | None
    odd_choices: float | None
    token_share: float | None
    mean_kl: float | None
    choices: TokenShare | None = None

    @property
    def unsure(self) -> bool:
        """Whether text leaves open if it is the weights or the KV cache."""
        one = self.choices
        return one is not None and not (one.surely_above(_OF_TOKENS) or one.surely_below(_OF_TOKENS))

    def cause(self, *, tolerated: float, different_nats: float) -> tuple[str, str]:
        """Name the layer at fault if one is, and say what speaks for it."""
        odd, share = self.odd_choices or 0.0, self.share
        halves = f"{_number(self.first.rate)} in first halves, {_number(self.second.rate)} in second ones"
        clean = self.clean_rate is not None and self.clean_rate <= tolerated
        of_contexts = is_of_contexts(self.token_share, self.mean_kl)
        ladder = (
            (self.fault is not None, str(self.fault),
             "the prompt itself differs from golden's, so weights are not judged"),
            (odd > 0.5, "sampler", f"at {odd:.0%} of the flips the endpoint did not take its own likeliest token"),
            (self.mean_margin > different_nats, "different_model",
             f"golden likes its own choices better by {self.mean_margin:.2g} nats on average"),
            (self.cliffs > 1 and self.flipped <= 2 * self.cliffs and clean, "engine",
             f"{self.cliffs} of {self.flipped} answers with flips fall off a cliff, and are golden's before it"),
            (share.high < _ALL_REQUESTS, "routing",
             f"{share.share:.0%} of the requests ({share.low:.0%} to {share.high:.0%}) are answered so"),
            (self.second.p_value < _SURE, "kv_cache", f"flips come with length: {halves}"),
            (self.first.p_value < _SURE, "template", f"flips come first: {halves}"),
            (of_contexts, "kv_cache",
             f"logprobs are off in another way in each context ({self.token_share or 0.0:.1%} of it is the token's)"),
            (self.choices is not None and self.choices.share < _OF_TOKENS, "kv_cache",
             f"choices are off in another way in each context{self._of_tokens()}"),
        )  # fmt: skip
        fitting = (named for applies, *named in ladder if applies)
        cause, why = next(fitting, ["weights", f"flips are everywhere alike{self._of_tokens()}: {halves}"])
        return cause, why

    def _of_tokens(self) -> str:
        if self.choices is None:
            return ""
        share, error = min(max(self.choices.share, 0.0), 1.0), self.choices.error
        return f" ({share:.0%} of the error is the token's, give or take {error:.0%})"

    def numbers(self) -> dict[str, Any]:
        """For a verdict's details."""
        return {
            "prompt_fault": self.fault or "none", "mean_margin_nats": self.mean_margin,
            "median_margin_nats": self.median_margin, "rate_first_half": self.first.rate,
            "rate_second_half": self.second.rate, "p_first": self.first.p_value, "p_second": self.second.p_value,
            "routed_share": self.share.share, "routed_low": self.share.low, "routed_high": self.share.high,
            "n_cliffs": self.cliffs, "rate_before_cliffs": self.clean_rate, "odd_choices": self.odd_choices,
            "token_share": self.token_share if self.choices is None else self.choices.share,
            "token_share_error": None if self.choices is None else self.choices.error, "cause_unsure": self.unsure,
        }  # fmt: skip


def clues_of(
    answers: Sequence[GreedyAnswer], flips: Sequence[Sequence[bool]], share: RoutingShare, *, cliff_nats: float,
    rng: np.random.Generator | None = None,
) -> Clues:  # fmt: skip
    """Return the clues of `answers` with these `flips` (one per token); `share` is what `routing_share` says.

    Simulating what choices say takes half a second, and is done where `rng` is given.
    """
    margins = np.minimum([margin for answer in answers for margin in answer.margins], _FAR_NATS)
    flipped = np.array([flip for row in flips for flip in row])
    kls = [kl for answer in answers for _, kl in answer.listed]
    cliffs = [[t for t, margin in enumerate(one.margins) if margin > cliff_nats] for one in answers]
    first, second = _halves(np.array([place for answer in answers for place in answer.places]), flipped)
    return Clues(
        fault=prompt_fault(answers), share=share, first=first, second=second, mean_margin=float(margins.mean()),
        median_margin=float(np.median(margins[flipped])) if flipped.any() else None, cliffs=sum(map(bool, cliffs)),
        flipped=sum(map(any, flips)), clean_rate=_rate_before(flips, cliffs), odd_choices=_odd_choices(answers, flips),
        token_share=token_share([answer for answer in answers if answer.listed]),
        mean_kl=float(np.mean(kls)) if kls else None,
        choices=choice_share(_places(answers), rng=rng) if rng is not None and not kls else None,
    )  # fmt: skip


def _places(answers: Sequence[GreedyAnswer]) -> list[Place]:
    """All choices of which golden's alternatives are known."""
    found = []
    for number, answer in enumerate(answers):
        for position in answer.view.positions:
            rivals = dict(position.rivals)
            if not rivals or position.golden_logprob is None:
                continue
            rivals.setdefault(position.token_id, position.golden_logprob)
            ids = tuple(rivals)
            found.append(Place(number, ids, tuple(rivals.values()), ids.index(position.token_id)))
    return found


def _halves(places: np.ndarray, flipped: np.ndarray) -> tuple[Half, Half]:
    """First and second halves of the answers, by place.

    If nothing depends on the place, each flip of an answer is as likely in either half for its tokens, however the
    answers differ; given their number, flips of a half are then about binomial.
    """
    late = places >= (places.max() + 1) / 2
    first, second = (
        Half(
            float(flipped[mask].mean()) if mask.any() else None,
            float(binom.sf(flipped[mask].sum() - 1, flipped.sum(), mask.mean())),
        )
        for mask in (~late, late)
    )
    return first, second


def _odd_choices(answers: Sequence[GreedyAnswer], flips: Sequence[Sequence[bool]]) -> float | None:
    odd = [
        position.endpoint_logprob < max(position.endpoint_top) - _TIE_NATS
        for answer, row in zip(answers, flips, strict=True)
        for position, flip in zip(answer.view.positions, row, strict=True)
        if flip and position.endpoint_top and position.endpoint_logprob is not None
    ]
    return sum(odd) / len(odd) if odd else None


def _rate_before(flips: Sequence[Sequence[bool]], cliffs: Sequence[Sequence[int]]) -> float | None:
    """Flip rate before the first fall of each answer that has one; None without any such token."""
    kept = [flip for row, falls in zip(flips, cliffs, strict=True) for flip in (row[: falls[0]] if falls else ())]
    return sum(kept) / len(kept) if kept else None


def _number(value: float | None) -> str:
    return "nothing known" if value is None else f"{value:.2g}"
