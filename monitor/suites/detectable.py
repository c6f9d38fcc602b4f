"""The smallest loss that a comparison of pairs would find, from the rule that decides, under a loss of that size."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc
from scipy.stats import binom, norm

from monitor.ports import Floats

POWER = 0.8
_RARE = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a loss fails: the one-sided exact test at `alpha`, and the whole interval below a loss of `tolerance`."""

    alpha: float
    tolerance: float = 0.0
    confidence: float = 0.95

    def fails(self, worse: Floats, better: Floats, n: int) -> Floats:
        """Return whether tables of `n` pairs fail, of which so many are worse and better; broadcast."""
        chance = betainc(np.maximum(worse, 1), better + 1, 0.5)
        centre = (better - worse) / (n + 2)
        error = np.sqrt(np.maximum(better + worse + 1 - centre**2 * (n + 2), 0)) / (n + 2)
        high = np.maximum((better - worse) / n, centre + norm.ppf(0.5 + self.confidence / 2) * error)
        decided: Floats = (worse >= 1) & (chance <= self.alpha) & (high < -self.tolerance)
        return decided


def least_lost(n: int, rule: Rule) -> int | None:
    """Return how many of `n` cases must be lost, none gained, to fail; None where all are not enough."""
    least = int(_least(np.zeros(1), n, n, rule)[0]) if n else n + 1
    return least if least <= n else None


def smallest_loss(n: float, right: float, gained: float, rule: Rule) -> float | None:
    """Return the smallest net loss, a share of the cases, that fails with power 0.8; None where none does.

    Parameters
    ----------
    n, right, gained
        Cases, those that the other side answers rightly, and those that were gained; of effective cases no whole
        numbers.

    Notes
    -----
    Each case that the other side answers rightly is lost, in whole and independently, with one chance; each other one
    is gained with the chance seen. Of 60 cases, none gained, seven must be lost to fail at 0.01, and as many are in
    80% of runs from a chance of 14.7% on. It never lies below seven of 60.
    """
    cases, able = math.floor(n + 1e-9), math.floor(min(n, right) + 1e-9)
    if not cases or not able:
        return None
    room = max(cases - able, math.ceil(gained - 1e-9))
    rate = gained / room if room else 0.0
    better = np.arange(binom.ppf(_RARE, room, rate), binom.isf(_RARE, room, rate) + 1) if gained else np.zeros(1)
    shares, least = binom.pmf(better, room, rate), _least(better, able, cases, rule)
    short = partial(_short, shares=shares, least=least, able=able)
    if short(1.0) < 0:
        return None
    loss = (float(brentq(short, 0.0, 1.0, xtol=1e-5)) * able - gained) / cases
    return min(1.0, max(loss, float((least - better).min()) / cases))


def normal_loss(error: float, n: int, rule: Rule) -> float | None:
    """Return the same for a difference of two runs with other cases, from its standard error, as its own test decides.

    A loss of d makes at least that share of the `n` cases differ more, which adds ``d (1 - d) / n`` to the variance.
    """
    level, power = float(norm.ppf(1 - rule.alpha)), float(norm.ppf(POWER))
    half = float(norm.ppf(0.5 + rule.confidence / 2))

    def short(loss: float) -> float:
        spread = math.sqrt(error**2 + loss * (1 - loss) / n)
        return loss - max(level * spread, rule.tolerance + half * spread) - power * spread

    return float(brentq(short, 0.0, 1.0, xtol=1e-5)) if short(1.0) > 0 else None


def _short(chance: float, *, shares: Floats, least: Floats, able: int) -> float:
    """By how much the power lies above 0.8 when each of `able` cases is lost with `chance`."""
    reached = np.where(least <= able, betainc(np.minimum(least, able), able - np.minimum(least, able) + 1, chance), 0.0)
    return float(shares @ reached) - POWER


def _least(better: Floats, able: int, n: int, rule: Rule) -> Floats:
    """The fewest of `able` losses that fail beside each number of gains; ``able + 1`` where all do not."""
    low, high = np.zeros(better.shape), np.full(better.shape, able + 1.0)
    for _ in range(able.bit_length() + 1):
        middle = np.floor((low + high) / 2)
        fails = rule.fails(middle, better, n)
        low, high = np.where(fails, low, middle), np.where(fails, middle, high)
    return high
