"""Other samplers than the declared one: temperature, top-p, top-k, min-p, and penalties on what was said before.

Under a rule the golden distribution p becomes ``p^(1/T) / Z``, or ``p / Z`` on a part of the vocabulary. So with ln Z
at every position the likelihood ratio of each token under each rule is exact, and nothing else of the vocabulary has to
be kept. The null (plain sampling at temperature 1) is exact whatever the prompts, lengths and number of looks. All
ratios here go into `monitor.stats.eprocess.mixture_process`.

An engine with rounding noise draws from q, not from p. Then a ratio r / p has expectation ``E_q[r / p] = E_r[q / p]``:
at most ``exp(a)`` when tokens drawn by the alternative would on average be at most ``exp(a)`` times as likely under q
as under p. Taking ``a`` nats per token off the log of an e-process tests the null of such q. That is not the null of
all q whose KL to p is at most ``a``: where q leans the way r does, the expectation is larger. So against "within a
tolerance of ``a`` nats" the result is an approximation. An endpoint whose KL is just the tolerance, by its temperature
alone, reached 1 / 0.001 in 0.1% to 0.7% of the streams of 1,200 tokens, and in 1% to 3% of those of 5,000.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from monitor.stats.checks import Floats, vector
from monitor.stats.eprocess import Interval, likelihood_interval

RuleKind = Literal["temperature", "top_p", "top_k", "min_p"]

GRANTED = 0.02
"""Share of its tokens that a truncation is granted outside its part, for ties, rounding and other weights."""

PENALTIES = (0.1, 0.25, 0.5, 1.0, 2.0)
"""How much less likely, in nats, a penalty makes what was said before."""

STRAY_SHARES = (0.01, 0.03, 0.08)
"""Shares of tokens that come from elsewhere."""

STRAY_SHAPE = 0.25
"""How close to impossible such tokens are: 1 - PIT is below 1e-3 for one in six (joins of SmolLM2-135M answers)."""

CLOSEST = 1e-4
"""Nearest to 1 that a PIT value is believed: one token whose split in the text cannot be seen must not decide."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A sampler: ``kind`` with its ``value``, all else left off."""

    kind: RuleKind
    value: float


TEMPERATURES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.3, 1.5)
TOP_PS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
TOP_KS = (1, 5, 10, 20, 40, 50, 100)
MIN_PS = (0.02, 0.05, 0.1)
RULES = (
    *(Rule("temperature", value) for value in TEMPERATURES),
    *(Rule("top_p", value) for value in TOP_PS),
    *(Rule("top_k", value) for value in TOP_KS),
    *(Rule("min_p", value) for value in MIN_PS),
)
"""The rules that golden engines report ln Z for, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Sampled tokens as golden sees them, all of shape (t,) but the last: what every test of samplers needs.

    ``logprob`` of the token, its ``rank`` (0 the most likely), ``mass_above`` it (probability of all likelier tokens),
    ``top1_logprob`` at its position, and ``log_norms`` (t, len(RULES)).
    """

    logprob: Floats
    rank: Floats
    mass_above: Floats
    top1_logprob: Floats
    log_norms: Floats

    def __post_init__(self) -> None:
        size = vector("logprob", self.logprob, high=1e-6).size
        for name in ("rank", "mass_above", "top1_logprob"):
            if vector(name, getattr(self, name)).size != size:
                raise ValueError(f"`{name}` must be as long as `logprob`")
        if self.log_norms.shape != (size, len(RULES)) or not np.isfinite(self.log_norms).all():
            raise ValueError(f"`log_norms` must be finite, of shape ({size}, {len(RULES)}), not {self.log_norms.shape}")


def rule_log_ratios(drawn: Drawn) -> Floats:
    """Log of the density of each token under each rule over that under plain sampling, shape (t, len(RULES)).

    Notes
    -----
    A truncation is mixed with plain sampling, `GRANTED` of it: one token outside its part must not end all evidence.
    """
    columns = [_log_ratio(rule, drawn, drawn.log_norms[:, at]) for at, rule in enumerate(RULES)]
    return np.column_stack(columns)


def _log_ratio(rule: Rule, drawn: Drawn, log_norm: Floats) -> Floats:
    if rule.kind == "temperature":
        return np.asarray((1 / rule.value - 1) * drawn.logprob - log_norm)
    inside = np.where(_inside(rule, drawn), -log_norm, -np.inf)
    return np.asarray(np.logaddexp(np.log(GRANTED), np.log1p(-GRANTED) + inside))


def _inside(rule: Rule, drawn: Drawn) -> Floats:
    if rule.kind == "top_p":
        return np.asarray(drawn.mass_above < rule.value)
    if rule.kind == "top_k":
        return np.asarray(drawn.rank < rule.value)
    return np.asarray(drawn.logprob >= np.log(rule.value) + drawn.top1_logprob)


def temperature_interval(drawn: Drawn, *, confidence: float = 0.95, steps: int = 241) -> Interval:
    """Anytime-valid interval for the served temperature, between the ends of `TEMPERATURES`.

    Assumes that the sampler is one of temperature: of other faults it tells the temperature that looks most alike.
    """
    grid = np.geomspace(TEMPERATURES[0], TEMPERATURES[-1], steps)
    ratios = (1 / grid - 1) * drawn.logprob[:, np.newaxis] - log_z(drawn)(1 / grid).T
    return likelihood_interval(ratios, grid, confidence=confidence)


def surprisal_variance(drawn: Drawn) -> float:
    """Mean variance of surprisal under golden, nats²: the Fisher information of one token about 1 / T at T = 1."""
    return float(log_z(drawn)(1.0, 2).mean())


def log_z(drawn: Drawn) -> CubicSpline:
    """Return ln Z as a function of 1 / T, shape (t,) at each.

    It is smooth and convex (the cumulant generating function of the logprobs), known at the grid and at T = 1, where it
    is 0.
    """
    known = np.array([1 / value for value in TEMPERATURES] + [1.0])
    sums = np.column_stack([drawn.log_norms[:, : len(TEMPERATURES)], np.zeros(len(drawn.logprob))])
    order = np.argsort(known)
    return CubicSpline(known[order], sums[:, order].T)


def penalty_log_ratios(was_said: ArrayLike, said_mass: ArrayLike) -> Floats:
    """Log ratios for penalties on tokens said before (repetition, presence, frequency), shape (t, len(PENALTIES)).

    Parameters
    ----------
    was_said
        Shape (t,), 0 or 1: whether the token stood in the answer before.
    said_mass
        Shape (t,): golden probability of all tokens that stood in the answer before.

    Notes
    -----
    H0: the token is drawn from golden, so ``was_said`` is Bernoulli of ``said_mass`` given the past. Alternatives make
    what was said ``exp(-d)`` times as likely, d in `PENALTIES`. Cost O(t).
    """
    said, mass = vector("was_said", was_said, low=0, high=1), vector("said_mass", said_mass, low=0, high=1 + 1e-6)
    if said.shape != mass.shape:
        raise ValueError("`was_said` and `said_mass` must be equally long")
    p = np.minimum(mass, 1.0)
    return np.column_stack([-penalty * said - np.log1p(-p * -np.expm1(-penalty)) for penalty in PENALTIES])


def stray_log_ratios(pit: ArrayLike) -> Floats:
    """Log ratios for a few tokens from elsewhere among plainly sampled ones, shape (t, len(STRAY_SHARES)).

    Parameters
    ----------
    pit
        Shape (t,), in (0, 1], of `monitor.stats.ranks.discrete_pit`, ordered from the most likely token down.

    Notes
    -----
    Where two answers are joined wrongly, the next token is among the least likely of all: its PIT value lies near 1.
    A share of the tokens has the beta density (1, `STRAY_SHAPE`), the rest the uniform one. Cost O(t).
    """
    u = vector("pit", pit, low=0, high=1)
    log_density = np.log(STRAY_SHAPE) + (STRAY_SHAPE - 1) * np.log(np.maximum(1 - u, CLOSEST))
    return np.column_stack([np.logaddexp(np.log1p(-share), np.log(share) + log_density) for share in STRAY_SHARES])
