"""How a divergence from golden runs along the answers, and which layer that points at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from monitor.greedy_answers import GreedyAnswer
from monitor.stats.checks import Floats
from monitor.stats.rates import Rate, wilson

FIRST = 4
"""Places that count as the start of an answer."""

_GROWN = 1.5  # late over early, from which a slope that is surely positive is called growth
_FADED = 1.7  # start over rest, from which a slope that is surely negative is called fading
_OF_TOKENS = 0.18  # share of the deviation that belongs to tokens, below which the weights are not to blame
_GROUPS = 8  # of answers, for the jackknife
_FINE_NATS = 0.01  # divergence that 8-bit arithmetic, whose errors go by context too, stays below
_ALL = 0.9
_APART = 10.0  # times that routed answers are further off than the others: two kinds of answers, not one that spreads
_DIFFERENT_NATS = 3.0
_FEWEST = 4  # answers for `token_share`


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Divergence in nats: mean, at the start, in both halves; slope per 100 tokens with a 95% interval by answers.

    A part without any token has None, and so has a slope where all places are the same. ``off`` is the share of answers
    whose own mean is above the tolerance, ``beyond`` the mean of these and ``within`` that of the others (None without
    any), ``token_share`` what `token_share` says, with its standard error.
    """

    n_positions: int
    mean: float
    token_share: float | None
    token_share_error: float | None
    start: float | None
    rest: float | None
    first_half: float | None
    second_half: float | None
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    off: Rate
    beyond: float | None
    within: float | None

    @property
    def grows(self) -> bool:
        """Whether it surely grows along the answer, and by much."""
        if self.slope_low is None or self.first_half is None or self.second_half is None:
            return False
        return self.slope_low > 0 and self.second_half > _GROWN * self.first_half

    @property
    def fades(self) -> bool:
        """Whether it surely fades along the answer, and by much."""
        if self.slope_high is None or self.start is None or self.rest is None:
            return False
        return self.slope_high < 0 and self.start > _FADED * self.rest

    @property
    def unsure(self) -> bool:
        """Whether it may as well be the weights' as the KV cache's."""
        return is_unsure(self.token_share, self.token_share_error, self.mean)

    @property
    def is_routed(self) -> bool:
        """Whether some answers, surely not all, are off and the others are far from that."""
        if self.off.high is None or self.beyond is None or self.within is None:
            return False
        return self.off.high < _ALL and self.beyond > _APART * self.within

    def cause(self, fault: str | None) -> tuple[str, str]:
        """Name the layer at fault if one is, and say what speaks for it. `fault` is that of the prompt."""
        halves = f"{_number(self.first_half)} in first halves, {_number(self.second_half)} in second ones"
        of_contexts = is_of_contexts(self.token_share, self.mean)
        ladder = (
            (fault is not None, str(fault), "the prompt itself differs from golden's, so weights are not judged"),
            (self.mean > _DIFFERENT_NATS, "different_model",
             f"{self.mean:.2g} nats are more than other weights of one model differ by"),
            (self.is_routed, "routing",
             f"{self.off.k} of {self.off.n} answers are off by {_number(self.beyond)} nats, others by "
             + _number(self.within)),
            (self.fades, "template",
             f"it fades: {_number(self.start)} at the first {FIRST} tokens, {_number(self.rest)} after"),
            (self.grows, "kv_cache", f"it grows with the place in the answer: {halves}"),
            (of_contexts, "kv_cache", f"it is another one in each context{self._of_tokens()}; {halves}"),
        )  # fmt: skip
        fitting = (named for applies, *named in ladder if applies)
        cause, why = next(fitting, ["weights", f"it is there at all places{self._of_tokens()}; {halves}"])
        return cause, why

    def _of_tokens(self) -> str:
        if self.token_share is None:
            return ""
        return f", {min(max(self.token_share, 0.0), 1.0):.0%} of it explained by the token"

    def numbers(self) -> dict[str, Any]:
        """For a verdict's details."""
        return {
            "kl_nats": self.mean, "token_share": self.token_share, "token_share_error": self.token_share_error,
            "kl_slope": self.slope, "slope_low": self.slope_low, "slope_high": self.slope_high,
            "start_nats": self.start, "rest_nats": self.rest, "first_half_nats": self.first_half,
            "second_half_nats": self.second_half, "answers_off": self.off.k, "beyond_nats": self.beyond,
            "within_nats": self.within,
        }  # fmt: skip


def profile_of(answers: Sequence[GreedyAnswer], tolerated: float) -> Profile:
    """Return the profile of `answers`, each with at least one divergence."""
    pairs = [np.array(answer.listed, dtype=np.float64) for answer in answers]
    places, kls = np.concatenate(pairs).T
    middle = (places.max() + 1) / 2
    means = np.array([pair[:, 1].mean() for pair in pairs])
    slope, low, high = _slope(pairs) or (None, None, None)
    return Profile(
        n_positions=kls.size, mean=float(kls.mean()), token_share=token_share(answers),
        token_share_error=token_share_error(answers),
        start=_mean(kls[places < FIRST]), rest=_mean(kls[places >= FIRST]),
        first_half=_mean(kls[places < middle]), second_half=_mean(kls[places >= middle]),
        slope=slope, slope_low=low, slope_high=high,
        off=wilson(int((means > tolerated).sum()), means.size),
        beyond=_mean(means[means > tolerated]), within=_mean(means[means <= tolerated]),
    )  # fmt: skip


def token_share(answers: Sequence[GreedyAnswer]) -> float | None:
    """Share of the deviation from golden that a listed token shows in all answers alike; None with too few answers.

    The deviation of a token is endpoint minus golden logprob, less the mean of its position. Other weights favour and
    disfavour the same tokens everywhere, while a damaged cache or other positions make another error in each context.
    Measured on SmolLM2-135M with 20 answers of 32 tokens: Q4_0 weights 0.17 to 0.25 (also with 8-bit embeddings), a
    tenth of the RoPE base 0.10 to 0.15, a q4_0 cache 0.01 to 0.05; but Q8_0 weights, where llama.cpp rounds activations
    too, 0.05.
    The estimate is the mean product of deviations of one token in two different answers, over their mean square.
    """
    sums: dict[str, dict[int, tuple[float, int]]] = {}
    squares, n = 0.0, 0
    for number, answer in enumerate(answers):
        for token, value in _deviations(answer):
            total, count = sums.setdefault(token, {}).get(number, (0.0, 0))
            sums[token][number] = total + value, count + 1
            squares, n = squares + value * value, n + 1
    tables = [np.array(list(found.values())) for found in sums.values() if len(found) > 1]
    if len(answers) < _FEWEST or not tables or squares == 0:
        return None
    between = np.sum([table.sum(axis=0) ** 2 - (table**2).sum(axis=0) for table in tables], axis=0)
    return float(between[0] / between[1] / (squares / n))


def token_share_error(answers: Sequence[GreedyAnswer]) -> float | None:
    """Standard error of `token_share` by the jackknife over groups of answers; None with too few.

    Source: B. Efron, The Jackknife, the Bootstrap and Other Resampling Plans, 1982, section 2.2 (grouped).
    """
    left = [[one for at, one in enumerate(answers) if at % _GROUPS != group] for group in range(_GROUPS)]
    if len(answers) < _GROUPS * 2:
        return None
    found = [share for some in left if (share := token_share(some)) is not None]
    if len(found) < _GROUPS:
        return None
    return float(np.sqrt((_GROUPS - 1) * np.var(found)))


def is_unsure(share: float | None, error: float | None, mean_nats: float | None) -> bool:
    """Whether two standard errors reach across the limit that tells weights from the KV cache."""
    if share is None or error is None or (mean_nats or 0.0) <= _FINE_NATS:
        return False
    return abs(share - _OF_TOKENS) < 2 * error


def is_of_contexts(share: float | None, mean_nats: float | None) -> bool:
    """Whether a deviation with this `token_share` and mean divergence is the KV cache's rather than the weights'."""
    return share is not None and share < _OF_TOKENS and (mean_nats or 0.0) > _FINE_NATS


def _deviations(answer: GreedyAnswer) -> Iterator[tuple[str, float]]:
    """Token and centred deviation of all listed alternatives whose names are known."""
    entries = answer.exchange.choice.logprobs or ()
    for position in answer.view.positions:
        entry = entries[position.position] if position.position < len(entries) else None
        names = [top.token for top in entry.top] if entry is not None else []
        if len(names) == len(position.endpoint_top) > 1:
            moved = np.subtract(position.endpoint_top, position.golden_top)
            yield from zip(names, (moved - moved.mean()).tolist(), strict=True)


def _slope(pairs: Sequence[Floats]) -> tuple[float, float, float] | None:
    """Slope within answers, nats per 100 tokens, with its interval; None where no answer has two places.

    Each answer has its own level. Linearised ratio with answers as clusters (W. G. Cochran, Sampling Techniques, 3rd
    ed. 1977, section 6.4), quantile of Student's t.
    """
    centred = [pair - pair.mean(axis=0) for pair in pairs]
    spread = np.array([float((pair[:, 0] ** 2).sum()) for pair in centred])
    moved = np.array([float(pair[:, 0] @ pair[:, 1]) for pair in centred])
    if spread.sum() == 0:
        return None
    slope, n = float(moved.sum() / spread.sum()), len(pairs)
    error = np.sqrt(float(((moved - slope * spread) ** 2).sum()) * n / max(n - 1, 1)) / spread.sum()
    half = float(student.ppf(0.975, max(n - 1, 1)) * error)
    return 100 * slope, 100 * (slope - half), 100 * (slope + half)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def _number(value: float | None) -> str:
    return "nothing known" if value is None else f"{value:.2g}"
