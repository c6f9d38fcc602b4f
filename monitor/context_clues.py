"""What answers to long prompts tell beside their divergence: codes, cuts, caches, and how short prompts fare."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.divergence_profile import is_of_contexts, token_share
from monitor.greedy_answers import GreedyAnswer, prompt_fault
from monitor.stats.rates import wilson
from monitor.wire.usage import read_usage

_MORE = 2.0  # long over short, or one half of the cache over the other, from which the difference is the fault
_NAME_PARTS = 5  # code-LENGTH-NUMBER-CODE-STATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How far some answers are off: mean divergence (None without logprobs), and rate of flips (None without any)."""

    nats: float | None
    rate: float | None

    def within(self, nats: float, rate: float) -> bool:
        """Whether it is within the tolerances; by divergence where there is one."""
        return self.nats <= nats if self.nats is not None else (self.rate or 0.0) <= rate

    def beyond(self, other: "Level") -> bool:
        """Whether it is clearly larger than `other`."""
        if self.nats is not None and other.nats is not None:
            return self.nats > _MORE * other.nats
        return (self.rate or 0.0) > _MORE * (other.rate or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextClues:
    """Counts are of answers to long prompts; ``cold``, ``warm`` and ``short`` are levels, None without any answer.

    ``n_missed`` are codes not found in answers that golden would not have given, ``n_cut`` prompts of which the
    endpoint counts clearly fewer tokens than there are. ``noise`` is the margin up to which a token is no flip, nats,
    ``of_contexts`` what `monitor.divergence_profile.is_of_contexts` says of the short answers.
    """

    n_long: int
    n_found: int
    n_missed: int
    n_cut: int
    most_missing: int
    fault: str | None
    cold: Level | None
    warm: Level | None
    long: Level
    short: Level | None
    of_contexts: bool
    noise: float

    def cause(self, *, tolerated_nats: float, tolerated_rate: float) -> tuple[str, str]:
        """Name the layer at fault if one is, and say what speaks for it."""
        ladder = (
            (self.n_cut > 0, "engine",
             f"the prompt was cut: {self.n_cut} of {self.n_long} lack up to {self.most_missing} tokens"),
            (self.fault is not None, str(self.fault),
             "the prompt itself differs from golden's, so weights are not judged"),
            (self._cache_differs(tolerated_nats, tolerated_rate), "engine",
             "cold and warm prefix cache differ, and one of them is within the tolerance"),
            (self.short is not None and self.short.within(tolerated_nats, tolerated_rate), "kv_cache",
             "answers to short prompts are within the tolerance"),
            (self.short is not None and self.long.beyond(self.short), "kv_cache",
             "answers to short prompts are much less off"),
            (self.of_contexts, "kv_cache", "short answers are off in another way in each context"),
            (self.short is not None, "weights", "answers to short prompts are off as well"),
        )  # fmt: skip
        fitting = (named for applies, *named in ladder if applies)
        cause, why = next(fitting, ["weights", "there are no short answers to tell the cache from the weights"])
        return cause, why

    def _cache_differs(self, nats: float, rate: float) -> bool:
        if self.cold is None or self.warm is None or self.cold.within(nats, rate) == self.warm.within(nats, rate):
            return False
        return self.cold.beyond(self.warm) or self.warm.beyond(self.cold)

    def numbers(self) -> dict[str, Any]:
        """For a verdict's details."""
        levels = {"cold": self.cold, "warm": self.warm, "long": self.long, "short": self.short}
        found = wilson(self.n_found, self.n_long)
        return {
            "n_long": self.n_long, "codes_found": self.n_found, "found_low": found.low, "found_high": found.high,
            "codes_missed": self.n_missed, "n_cut": self.n_cut, "most_missing": self.most_missing,
            "prompt_fault": self.fault or "none", "of_contexts": self.of_contexts,
            **{f"{name}_nats": level.nats if level else None for name, level in levels.items()},
            **{f"{name}_flips": level.rate if level else None for name, level in levels.items()},
        }  # fmt: skip


def split_by_length(
    answers: Sequence[GreedyAnswer], long_tokens: int
) -> tuple[list[GreedyAnswer], list[GreedyAnswer]]:
    """Return the answers to prompts of at least `long_tokens` golden tokens, and the others."""
    long = [answer for answer in answers if (answer.view.prompt_tokens or 0) >= long_tokens]
    return long, [answer for answer in answers if (answer.view.prompt_tokens or 0) < long_tokens]


def context_clues(
    long: Sequence[GreedyAnswer], short: Sequence[GreedyAnswer], *, noise: float, cut_share: float
) -> ContextClues:
    """Return the clues of answers to `long` prompts (of the `context` probe) beside those to `short` ones."""
    missing = [_missing(answer, cut_share) for answer in long]
    usual = [answer for answer, lost in zip(long, missing, strict=True) if not lost]
    return ContextClues(
        n_long=len(long), n_found=sum(map(_found, long)),
        n_missed=sum(not _found(answer) and max(answer.margins, default=0.0) > noise for answer in long),
        n_cut=sum(lost > 0 for lost in missing), most_missing=max(missing, default=0),
        fault=prompt_fault([*usual, *short]),
        cold=_level([answer for answer in long if answer.prompt_id.endswith("-cold")], noise),
        warm=_level([answer for answer in long if answer.prompt_id.endswith("-warm")], noise),
        long=_level(long, noise) or Level(nats=None, rate=None), short=_level(short, noise), noise=noise,
        of_contexts=_of_contexts([answer for answer in short if answer.listed]),
    )  # fmt: skip


def _of_contexts(answers: Sequence[GreedyAnswer]) -> bool:
    kls = [kl for answer in answers for _, kl in answer.listed]
    return bool(kls) and is_of_contexts(token_share(answers), float(np.mean(kls)))


def _found(answer: GreedyAnswer) -> bool:
    parts = answer.prompt_id.split("-")
    return len(parts) == _NAME_PARTS and parts[3] in answer.exchange.choice.content


def _missing(answer: GreedyAnswer, cut_share: float) -> int:
    """Tokens of a cut prompt that the endpoint does not count; 0 when it is not cut."""
    reported, golden = read_usage(answer.exchange.usage or {}).input_total, answer.view.prompt_tokens
    if reported is None or golden is None or golden - reported <= cut_share * golden:
        return 0
    return int(golden - reported)


def _level(answers: Sequence[GreedyAnswer], noise: float) -> Level | None:
    if not answers:
        return None
    kls = [kl for answer in answers for _, kl in answer.listed]
    margins = [margin for answer in answers for margin in answer.margins]
    return Level(
        nats=float(np.mean(kls)) if kls else None,
        rate=sum(margin > noise for margin in margins) / len(margins) if margins else None,
    )
