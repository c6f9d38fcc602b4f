"""Do choices that differ from golden's follow the token, in every context alike, or the context?

Other weights favour and disfavour the same tokens everywhere. A damaged cache, or wrong positions, make another error
in each context. Choices alone show it: the endpoint takes the likeliest of golden's logprobs plus an error of its own,
and what it takes more often than independent errors would make it is summed up by token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.stats.checks import Floats

_DRAWS = 256  # of the errors at each place
_WORLDS = 40  # in which all of the error, or none of it, is the token's
_STEPS = 16
_ERRORS = (0.01, 8.0)  # nats: from what faithful engines differ by to nonsense


@dataclass(frozen=True, slots=True)
class Place:
    """One choice: its answer, golden's likeliest tokens with their logprobs, and which of them was chosen.

    ``chosen`` is an index into ``tokens``.
    """

    answer: int
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    chosen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenShare:
    """Share of the error variance that is the token's own: about 1 when all is, 0 when each context has its own.

    ``error`` is its standard deviation were there no such share; ``error_nats`` that of the logprobs of one token.
    """

    share: float
    error: float
    error_nats: float

    def surely_below(self, limit: float) -> bool:
        """Whether two standard deviations lie between the share and `limit`."""
        return self.share + 2 * self.error < limit

    def surely_above(self, limit: float) -> bool:
        """Whether two standard deviations lie between the share and `limit`."""
        return self.share - 2 * self.error > limit


def token_share(places: Sequence[Place], *, rng: np.random.Generator) -> TokenShare | None:
    """Return the share for `places` of several answers; None where no choice differs, or no token is met twice.

    Method: the size of the errors is fitted to the number of differing choices. Residuals (chosen or not, less the
    probability under errors of that size, each independent) are summed by token and answer; the statistic is the sum
    over tokens of products between two different answers, which is 0 on average unless errors are common to contexts.
    It is divided by what it is where all of the error is the token's, found by simulation; simulating none of it gives
    the standard deviation. Cost O(places x tokens x draws).
    """
    if not any(place.logprobs[place.chosen] < max(place.logprobs) for place in places):
        return None
    table = _Table.of(places)
    size = table.fitted(rng)
    expected = table.shares(size, rng)
    residuals = table.statistic(table.chosen, expected)
    whole = [table.statistic(table.taken(table.by_token(size, rng)), expected) for _ in range(_WORLDS)]
    none = [table.statistic(table.taken(table.by_place(size, rng)), expected) for _ in range(_WORLDS)]
    scale = float(np.mean(whole))
    if scale <= 0:
        return None
    return TokenShare(share=residuals / scale, error=float(np.std(none, ddof=1)) / scale, error_nats=size)


@dataclass(frozen=True, slots=True)
class _Table:
    """Places as arrays: ``logits`` (T, K), -inf beyond the tokens of a place; ``cells`` (T, K) of (answer, token)."""

    logits: Floats
    tokens: NDArray[np.int64]
    cells: NDArray[np.int64]
    chosen: NDArray[np.int64]
    n_answers: int
    n_tokens: int

    @classmethod
    def of(cls, places: Sequence[Place]) -> "_Table":
        names = {token: at for at, token in enumerate(dict.fromkeys(t for place in places for t in place.tokens))}
        numbers = {answer: at for at, answer in enumerate(dict.fromkeys(place.answer for place in places))}
        width = max(len(place.tokens) for place in places)
        logits = np.full((len(places), width), -np.inf)
        tokens = np.zeros(logits.shape, dtype=np.int64)
        for t, place in enumerate(places):
            logits[t, : len(place.tokens)] = place.logprobs
            tokens[t, : len(place.tokens)] = [names[token] for token in place.tokens]
        rows = np.array([numbers[place.answer] for place in places])
        return cls(logits, tokens, rows[:, np.newaxis] * len(names) + tokens, np.array([p.chosen for p in places]),
                   len(numbers), len(names))  # fmt: skip

    def fitted(self, rng: np.random.Generator) -> float:
        """The standard deviation of independent errors that makes as many choices differ as do, in nats."""
        usual = self.taken(self.logits)
        wanted = float((self.chosen != usual).mean())
        normal, (low, high) = rng.standard_normal((_DRAWS, *self.logits.shape)), _ERRORS
        for _ in range(_STEPS):
            middle = float(np.sqrt(low * high))
            differing = float((self.taken(self.logits + middle * normal) != usual).mean())
            low, high = (middle, high) if differing < wanted else (low, middle)
        return float(np.sqrt(low * high))

    def shares(self, size: float, rng: np.random.Generator) -> Floats:
        """Probability (T, K) of each choice under independent errors."""
        taken = self.taken(self.logits + size * rng.standard_normal((_DRAWS, *self.logits.shape)))
        return np.stack([(taken == k).mean(axis=0) for k in range(self.logits.shape[1])], axis=1)

    def by_token(self, size: float, rng: np.random.Generator) -> Floats:
        """Logprobs (T, K) with an error that a token has everywhere."""
        return self.logits + size * rng.standard_normal(self.n_tokens)[self.tokens]

    def by_place(self, size: float, rng: np.random.Generator) -> Floats:
        """Logprobs (T, K) with an error that is another one at each place."""
        return self.logits + size * rng.standard_normal(self.logits.shape)

    def taken(self, logits: Floats) -> NDArray[np.int64]:
        """The likeliest of each place."""
        return np.asarray(logits.argmax(axis=-1), dtype=np.int64)

    def statistic(self, taken: NDArray[np.int64], expected: Floats) -> float:
        """Sum over tokens of products of residuals in two different answers."""
        residuals = (taken[:, np.newaxis] == np.arange(expected.shape[1])) - expected
        sums = np.bincount(
            self.cells.ravel(), weights=residuals.ravel(), minlength=self.n_answers * self.n_tokens
        ).reshape(self.n_answers, self.n_tokens)  # fmt: skip
        return float((sums.sum(axis=0) ** 2 - (sums**2).sum(axis=0)).sum())
