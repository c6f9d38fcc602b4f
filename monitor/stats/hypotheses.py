"""Which of many hypotheses explains what was seen: priors, unknown noise, shares of the prompts, posteriors.

What is seen at one prompt has a likelihood under golden weights with a hypothesis' deviation times a gain, for each of
some scales of noise. All else is the same whatever is looked at: logprobs (`monitor.stats.matched`) or choices alone
(`monitor.stats.matched_text`).
Source: measured in docs/identify.md; the mixture and the priors are ours.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.stats.checks import Floats

GOLDEN, UNEXPLAINED, FAITHFUL, SEVERAL = "golden", "unexplained", "bf16-class", "several"
"""Names of what is always considered (golden weights, something that no hypothesis predicts), golden's family, and that
of two hypotheses behind one name.
"""

SAMPLER = "sampler"
"""Family of what every engine computes alike out of its logprobs: it adds no noise to that of the engine."""

SCALES = np.geomspace(0.002, 4.0, 17)
"""Noise of the logprobs in nats, all alike a priori."""

_MOST_NOISE_NATS = 0.3
_SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_FINE_SHARES = np.linspace(0.01, 1.0, 100)
_MIXED, _PAIRED = 0.1, 0.05
_PAIRED_OF = 3
_LEAST = 1e-300
PRIORS = {"faithful": 1 / 3, "bank": 5 / 12, "unexplained": 1 / 4}
"""Prior of golden's family, of all other families together, and of what no hypothesis predicts."""

_LOG_PRIOR = {name: np.log(value) for name, value in PRIORS.items()}
_GAINS, _NEAR_GAINS = (0.8, 1.0), (0.2, 0.4)
_EXACT_GAINS, _COLDEST = (1.0,), 0.625  # of samplers; a temperature of 0.625 makes noise 1.6 times as large
_NOISY = SCALES <= _MOST_NOISE_NATS
_Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One hypothesis with its posterior. ``twins`` predict the same, so that nothing tells them from it.

    ``pair`` are the two hypotheses of which it is made up, the first of them at the share of the prompts.
    """

    name: str
    family: str
    posterior: float
    twins: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None


class Weighing(ABC):
    """Log evidences out of likelihoods: sums over clusters, integrals over scales and shares."""

    def __init__(self, clusters: Sequence[str], faithful_nats: float, families: Sequence[str]) -> None:
        _, self._index = np.unique(np.asarray(clusters), return_inverse=True)
        self.n_clusters = int(self._index.max()) + 1
        # The largest scale is left to what is unexplained, whatever is granted.
        self._faithful: _Bools = min(max(faithful_nats, SCALES[1]), SCALES[-2]) >= SCALES
        self._families = families
        # A temperature divides the engine's noise by itself.
        sampled = min(max(faithful_nats / _COLDEST, SCALES[1]), SCALES[-2]) >= SCALES
        self._noise = {FAITHFUL: self._faithful, SAMPLER: sampled}
        self._known: dict[tuple[int, float], Floats] = {}

    @abstractmethod
    def at_positions(self, column: int | None, gain: float) -> Floats:
        """Log likelihoods (positions, scales) under hypothesis `column`, of golden weights where that is None."""

    def golden(self) -> float:
        """Evidence of golden weights in a faithful engine."""
        return _integral(self.likelihoods(None), self._faithful)

    def unexplained(self) -> float:
        """Evidence of more noise than that, at all prompts or a share of them."""
        return self._mixed(self.likelihoods(None), ~self._faithful)

    def hypothesis(self, column: int) -> float:
        """Evidence of a hypothesis, at all prompts or a share of them."""
        gains = _EXACT_GAINS if self._families[column] == SAMPLER else _GAINS
        parts = [self._mixed(self.likelihoods(column, gain), self._noise_of(column)) for gain in gains]
        return float(log_sum(parts) - np.log(len(parts)))

    def near(self, column: int, gain: float) -> float:
        """Evidence of a part of the hypothesis' deviation, with any noise."""
        return _integral(self.likelihoods(column, gain), np.ones_like(self._faithful))

    def pair(self, one: int, other: int | None) -> float:
        """Evidence of two hypotheses behind one name: one at a share of the prompts, the other at the rest.

        Without `other`, golden weights in an engine with as much noise as hypotheses may have.
        """
        rest = self.likelihoods(other)[:, self._noise_of(other)]
        parts = self._by_share(self.likelihoods(one), self._noise_of(one), _SHARES, rest)
        return float(log_sum(parts) - np.log(len(_SHARES)))

    def best(self, columns: Sequence[int]) -> list[int]:
        """The hypotheses that explain most prompts better than any other, most prompts first."""
        noise = [self._noise_of(one) for one in columns]
        like = np.stack([
            log_sum(self.likelihoods(one)[:, own]) - np.log(own.sum()) for one, own in zip(columns, noise, strict=True)
        ], axis=1)  # fmt: skip
        names, counts = np.unique(like.argmax(axis=1), return_counts=True)
        return [columns[at] for at in names[np.argsort(-counts, kind="stable")]]

    def share(self, column: int, other: int | None = None) -> tuple[float, float, float]:
        """Mean and 95% interval of the share of clusters that deviate as the hypothesis predicts.

        The rest deviates as `other` predicts, or not at all.
        """
        rest = None if other is None else self.likelihoods(other)[:, self._noise_of(other)]
        logs = self._by_share(self.likelihoods(column), self._noise_of(column), _FINE_SHARES, rest)
        weights = np.exp(logs - log_sum(logs))
        below = np.cumsum(weights)
        # Rounding may leave the last sum below 1, but not below the upper level.
        low, high = _FINE_SHARES[np.searchsorted(below, [0.025, 0.975])].tolist()
        return float(weights @ _FINE_SHARES), low, high

    def rest(self, column: int) -> float:
        """Posterior that what does not deviate as the hypothesis predicts is golden weights in a faithful engine.

        The alternative is golden weights with more noise than that; all scales are alike a priori.
        """
        one, golden = self.likelihoods(column), self.likelihoods(None)
        any_noise = _NOISY | self._faithful
        faithful, both = (
            float(log_sum(self._by_share(one, self._noise_of(column), _SHARES, golden[:, noise])) + np.log(noise.sum()))
            for noise in (self._faithful, any_noise)
        )
        return float(np.exp(min(0.0, faithful - both)))

    def likelihoods(self, column: int | None, gain: float = 1.0) -> Floats:
        """Log likelihoods (clusters, scales)."""
        key = (-1, 0.0) if column is None else (column, gain)
        if key not in self._known:
            found = np.zeros((self.n_clusters, len(SCALES)))
            np.add.at(found, self._index, self.at_positions(column, gain))
            self._known[key] = found
        return self._known[key]

    def _noise_of(self, column: int | None) -> _Bools:
        """Scales that a hypothesis may have; golden weights in place of one those of any that is quantised."""
        return _NOISY if column is None else self._noise.get(self._families[column], _NOISY)

    def _mixed(self, like: Floats, noise: _Bools) -> float:
        """Evidence of a deviation in all clusters, or in a share of them."""
        parts = self._by_share(like, noise, _SHARES)
        whole = _integral(like, noise) + np.log(1 - _MIXED)
        return float(np.logaddexp(whole, log_sum(parts) + np.log(_MIXED / len(_SHARES))))

    def _by_share(self, like: Floats, noise: _Bools, shares: Floats, rest: Floats | None = None) -> Floats:
        """Evidence at each of `shares`; the others deviate by nothing, or have the likelihoods `rest`."""
        one, other = like[:, noise], self.likelihoods(None)[:, self._faithful] if rest is None else rest
        most = np.maximum(one.max(axis=1), other.max(axis=1))[:, None]
        # Plain exponentials take half the time of logaddexp; what underflows is out of the question.
        here, there = np.exp(one - most)[:, None, :, None], np.exp(other - most)[:, None, None, :]
        weight = shares[:, None, None]
        both = np.log(np.maximum(weight * here + (1 - weight) * there, _LEAST)).sum(axis=0) + most.sum()
        return np.asarray(log_sum(both.reshape(len(shares), -1)) - np.log(both[0].size), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Candidates in descending order, the most similar of them, and the evidence of the first against golden weights.

    ``nearest`` is only a hint when the first is `UNEXPLAINED` or golden; None when the bank is empty. ``share`` is that
    of the first with a 95% interval, where it is a hypothesis outside golden's family or a pair of them; ``rest`` is
    how likely the other requests are answered by golden weights in a faithful engine, None for a pair.
    """

    schemes: tuple[Candidate, ...]
    nearest: Candidate | None
    share: tuple[float, float, float] | None
    rest: float | None
    log_bayes: float

    @property
    def families(self) -> dict[str, float]:
        """Posterior by family, in descending order."""
        sums: dict[str, float] = {}
        for one in self.schemes:
            sums[one.family] = sums.get(one.family, 0.0) + one.posterior
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def weigh(
    judge: Weighing, names: Sequence[str], families: Mapping[str, str], groups: Mapping[str, tuple[str, ...]]
) -> Weighed:
    """Weigh golden weights, the first hypothesis of each of `groups` with its twins, and the unexplained.

    Priors: 1/3 for `FAITHFUL`, 1/4 for `UNEXPLAINED`, 5/12 for the other families, all alike, and within a family all
    schemes alike. A twentieth of the last is for pairs of schemes, all alike; looked at are those of the three schemes
    that explain most prompts best.
    """
    scores = _scores(judge, groups, names, families)
    pairs = _pairs(judge, groups, names, families, scores)
    total = float(log_sum(list(scores.values())))
    found = sorted(
        (Candidate(name, SEVERAL if name in pairs else _family(name, families), float(np.exp(value - total)),
                   groups.get(name, ()), pairs.get(name))
         for name, value in scores.items()), key=lambda one: -one.posterior,
    )  # fmt: skip
    first = found[0]
    alone = [first.name] if first.name in groups and first.family != FAITHFUL else []
    columns = [names.index(name) for name in first.pair or alone]
    return Weighed(
        schemes=tuple(found), nearest=_nearest(judge, found, names, groups),
        log_bayes=scores[first.name] - scores[GOLDEN], share=judge.share(*columns) if columns else None,
        rest=judge.rest(columns[0]) if alone else None,
    )  # fmt: skip


def log_sum(logs: Sequence[float] | Floats) -> Any:
    """Ln of the sum of exponentials along the last axis. Plain, because scipy's takes most of the time of a match."""
    values = np.asarray(logs, dtype=np.float64)
    most = values.max(axis=-1, keepdims=True)
    return np.log(np.exp(values - most).sum(axis=-1)) + most[..., 0]


def _integral(like: Floats, noise: _Bools) -> float:
    """Evidence over the scales `noise`, all alike a priori."""
    return float(log_sum(like[:, noise].sum(axis=0)) - np.log(noise.sum()))


def _scores(
    judge: Weighing, groups: Mapping[str, tuple[str, ...]], names: Sequence[str], families: Mapping[str, str]
) -> dict[str, float]:
    """Log of prior times evidence of golden, unexplained and the first of each group of twins."""
    members: dict[str, list[str]] = {}
    for name in groups:
        members.setdefault(families[name], []).append(name)
    others = sum(family != FAITHFUL for family in members)
    alone = FAITHFUL not in members
    scores = {GOLDEN: judge.golden() + _LOG_PRIOR["faithful"] + (0.0 if alone else np.log(0.5))}
    near = []
    for name in groups:
        column, own = names.index(name), families[name]
        alone_prior = _LOG_PRIOR["bank"] + np.log1p(-_PAIRED) - np.log(others) if others else 0.0
        class_prior = _LOG_PRIOR["faithful"] + np.log(0.5) if own == FAITHFUL else alone_prior
        prior = float(class_prior) - np.log(len(members[own]))
        scores[name] = judge.hypothesis(column) + prior
        if own != FAITHFUL:
            near += [judge.near(column, gain) for gain in _NEAR_GAINS]
    parts = [judge.unexplained() + np.log(0.5)] + [one + np.log(0.5 / len(near)) for one in near]
    scores[UNEXPLAINED] = float(log_sum(parts) + _LOG_PRIOR["unexplained"])
    return {name: float(value) for name, value in scores.items()}


def _pairs(
    judge: Weighing, groups: Mapping[str, tuple[str, ...]], names: Sequence[str], families: Mapping[str, str],
    scores: dict[str, float],
) -> dict[str, tuple[str, str]]:  # fmt: skip
    """Pairs of schemes behind one name, where any two explain some prompts best; adds their score to `scores`.

    What noise in the rest of the prompts explains as well is added to the score of the scheme alone.
    """
    columns = [names.index(name) for name in groups if families[name] != FAITHFUL]
    best = judge.best(columns)[:_PAIRED_OF] if columns else []
    prior = _LOG_PRIOR["bank"] + np.log(_PAIRED / max(1, len(columns) * (len(columns) - 1) / 2))
    for one in best:
        scores[names[one]] = float(np.logaddexp(scores[names[one]], judge.pair(one, None) + prior))
    found = {}
    for one, other in combinations(best, 2):
        found[f"{names[one]} + {names[other]}"] = names[one], names[other]
        scores[f"{names[one]} + {names[other]}"] = float(judge.pair(one, other) + prior)
    return found


def _nearest(
    judge: Weighing, found: Sequence[Candidate], names: Sequence[str], groups: Mapping[str, tuple[str, ...]]
) -> Candidate | None:
    """The first candidate; where that predicts nothing, the hypothesis of which a part explains most."""
    if found[0].pair:
        return next(one for one in found if one.name == found[0].pair[0])
    if found[0].name in groups or not groups:
        return found[0] if found[0].name in groups else None
    best = max(groups, key=lambda name: max(judge.near(names.index(name), gain) for gain in (*_NEAR_GAINS, *_GAINS)))
    return next(one for one in found if one.name == best)


def _family(name: str, families: Mapping[str, str]) -> str:
    return {GOLDEN: FAITHFUL, UNEXPLAINED: UNEXPLAINED}.get(name) or families[name]
