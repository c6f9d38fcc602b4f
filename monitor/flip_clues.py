"""What tells the causes of flips apart: where they are, how far off they are, and in how many answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from monitor.divergence_profile import is_of_contexts, token_share
from monitor.greedy_answers import GreedyAnswer, prompt_fault
from monitor.stats.routing import RoutingShare

_SURE = 0.001  # one-sided p-value at which flips count as gathered early or late
_ALL_REQUESTS = 0.9  # a routed share surely below this is a share, and not all requests
_TIE_NATS = 1e-3  # by which an endpoint's own tokens must differ to say which it likes better
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
    divergence in nats.
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
        )  # fmt: skip
        fitting = (named for applies, *named in ladder if applies)
        cause, why = next(fitting, ["weights", f"flips are everywhere alike: {halves}"])
        return cause, why

    def numbers(self) -> dict[str, Any]:
        """For a verdict's details."""
        return {
            "prompt_fault": self.fault or "none", "mean_margin_nats": self.mean_margin,
            "median_margin_nats": self.median_margin, "rate_first_half": self.first.rate,
            "rate_second_half": self.second.rate, "p_first": self.first.p_value, "p_second": self.second.p_value,
            "routed_share": self.share.share, "routed_low": self.share.low, "routed_high": self.share.high,
            "n_cliffs": self.cliffs, "rate_before_cliffs": self.clean_rate, "odd_choices": self.odd_choices,
            "token_share": self.token_share,
        }  # fmt: skip


def clues_of(
    answers: Sequence[GreedyAnswer], flips: Sequence[Sequence[bool]], share: RoutingShare, *, cliff_nats: float
) -> Clues:
    """Return the clues of `answers` with these `flips` (one per token); `share` is what `routing_share` says."""
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
    )  # fmt: skip


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
