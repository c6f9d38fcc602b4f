"""The matched filter: which of many predicted deviations an endpoint shows.

Quantisation and most other faults of serving deviate from the golden weights in a way that golden weights can predict.
So what is observed is compared with what each hypothesis predicts, sizes included.
Source: measured in docs/identify.md; the mixture and the priors are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from monitor.stats.matched_space import Floats, Space, centred, space_of, step_of

GOLDEN, UNEXPLAINED, FAITHFUL = "golden", "unexplained", "bf16-class"
"""Names of what is always considered (golden weights, something that no hypothesis predicts), and golden's family."""

_SCALES = np.geomspace(0.002, 4.0, 17)
_MOST_NOISE_NATS = 0.3
_DEGREES = 6.0
_SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_FINE_SHARES = np.linspace(0.01, 1.0, 100)
_MIXED = 0.1
_LOG_PRIOR = {"faithful": np.log(1 / 3), "bank": np.log(5 / 12), "unexplained": np.log(1 / 4)}
_GAINS, _NEAR_GAINS = (0.8, 1.0), (0.2, 0.4)
_TWIN_COSINE, _TWIN_SIZE = 0.95, 1.25
_Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One hypothesis with its posterior. ``twins`` predict the same, so that nothing tells them from it."""

    name: str
    family: str
    posterior: float
    twins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What the deviations say. ``schemes`` and ``families`` in descending order of their posterior.

    ``nearest`` is the most similar hypothesis, which is only a hint when the first of the families is `UNEXPLAINED`.
    ``share`` of the clusters deviate as the first scheme predicts (the others as golden), with a 95% credible interval;
    ``slope`` is the regression of observed on predicted deviations of ``nearest``, with a 95% interval over clusters.
    ``rms_nats`` is the size of the observed deviations, ``residual_nats`` that of what the prediction of ``nearest``,
    times ``slope``, leaves; ``log_bayes`` the evidence of the first scheme against golden weights, in nats.
    """

    schemes: tuple[Candidate, ...]
    families: Mapping[str, float]
    nearest: Candidate | None
    share: float | None
    share_low: float | None
    share_high: float | None
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    rms_nats: float
    residual_nats: float
    log_bayes: float
    step: float
    design_effect: float
    n: int
    n_clusters: int


def match(
    endpoint: Sequence[Floats], golden: Sequence[Floats], predicted: Mapping[str, Sequence[Floats]],
    families: Mapping[str, str], clusters: Sequence[str], *, faithful_nats: float = 0.05,
) -> Match:  # fmt: skip
    """Weigh all hypotheses.

    Parameters
    ----------
    endpoint, golden
        Logprobs of the tokens that the endpoint listed at each position, natural log, finite.
    predicted
        The same of each hypothesis, aligned; no hypothesis may be called `GOLDEN` or `UNEXPLAINED`.
    families
        The family of each hypothesis.
    clusters
        The prompt of each position; each is served by one backend.
    faithful_nats
        The largest root mean square deviation of faithful engines of the declared precision.

    Notes
    -----
    Of each position x = W (lp - lp_golden), whitened as `monitor.stats.matched_space` says. Under hypothesis h,
    x = g x_h + noise: g is 0.8 or 1 (engines that round activations too follow the weights a little less), the noise
    multivariate Student t with 6 degrees of freedom and an unknown scale that is the same at all positions, integrated
    over a logarithmic grid. Under golden weights x_h is zero and the scale at most `faithful_nats`. Unexplained is a
    larger scale, or a part (0.2 or 0.4) of some x_h. Each may hold for a share of the clusters only, golden weights
    for the others. The free directions and squares of every position are divided by the design effect.
    Priors: 1/3 for `FAITHFUL`, 1/4 for `UNEXPLAINED`, 5/12 for the other families, all alike.
    """
    names = list(predicted)
    rows = [[np.asarray(lp - gold) for lp, gold in zip(predicted[name], golden, strict=True)] for name in names]
    seen = [np.asarray(lp - gold) for lp, gold in zip(endpoint, golden, strict=True)]
    step = step_of(endpoint)
    space = space_of(seen, rows, rounding=step)
    groups = _twins(names, space)
    judge = _Judge(space, clusters, faithful_nats, [families[name] for name in names])
    scores = _scores(judge, groups, names, families)
    total = float(_log_sum(list(scores.values())))
    found = sorted(
        (Candidate(name, _family(name, families), float(np.exp(value - total)), groups.get(name, ()))
         for name, value in scores.items()), key=lambda one: -one.posterior,
    )  # fmt: skip
    nearest = _nearest(judge, found, names, groups)
    slope = (None,) * 3 if nearest is None else judge.slope(names.index(nearest.name))
    shares = (None,) * 3 if found[0].name not in groups else judge.share(names.index(found[0].name))
    return Match(
        schemes=tuple(found), families=_by_family(found), nearest=nearest, share=shares[0], share_low=shares[1],
        share_high=shares[2], slope=slope[0], slope_low=slope[1], slope_high=slope[2], rms_nats=_rms(seen),
        residual_nats=_rms(seen) if nearest is None or slope[0] is None else _rms(
            [row - slope[0] * other for row, other in zip(seen, rows[names.index(nearest.name)], strict=True)]
        ),
        log_bayes=scores[found[0].name] - scores[GOLDEN], step=step, design_effect=judge.design_effect, n=len(seen),
        n_clusters=judge.n_clusters,
    )  # fmt: skip


class _Judge:
    """Log evidences out of a space: sums over clusters, integrals over scales and shares."""

    def __init__(
        self, space: Space, clusters: Sequence[str], faithful_nats: float, families: Sequence[str]
    ) -> None:
        self._space, self.design_effect = space, space.design_effect(families)
        _, self._index = np.unique(np.asarray(clusters), return_inverse=True)
        self.n_clusters = int(self._index.max()) + 1
        self.faithful: _Bools = max(faithful_nats, _SCALES[1]) >= _SCALES
        self._golden = self._likelihoods(space.observed)

    def golden(self) -> float:
        return _integral(self._golden, self.faithful)

    def unexplained(self) -> float:
        return self._mixed(self._golden, ~self.faithful)

    def hypothesis(self, column: int, *, faithful: bool) -> float:
        noise = self.faithful if faithful else _SCALES <= _MOST_NOISE_NATS
        parts = [self._mixed(self._likelihoods(self._space.distance(column, gain)), noise) for gain in _GAINS]
        return float(_log_sum(parts) - np.log(len(parts)))

    def near(self, column: int, gain: float) -> float:
        """A part of the hypothesis' deviation, and any noise."""
        return _integral(self._likelihoods(self._space.distance(column, gain)), np.ones_like(self.faithful))

    def share(self, column: int) -> tuple[float, float, float]:
        """Mean and 95% interval of the share of clusters that deviate as the hypothesis predicts."""
        like = self._likelihoods(self._space.distance(column))
        logs = self._by_share(like, _SCALES <= _MOST_NOISE_NATS, _FINE_SHARES)
        weights = np.exp(logs - _log_sum(logs))
        below = np.cumsum(weights)
        low, high = (float(_FINE_SHARES[np.searchsorted(below, level)]) for level in (0.025, 0.975))
        return float(weights @ _FINE_SHARES), low, high

    def slope(self, column: int) -> tuple[float | None, float | None, float | None]:
        """Regression through the origin, with an interval from the clusters' residuals."""
        cross = np.bincount(self._index, weights=self._space.cross[:, column])
        size = np.bincount(self._index, weights=self._space.predicted[:, column])
        if size.sum() <= 0:
            return None, None, None
        value = float(cross.sum() / size.sum())
        if self.n_clusters < 2:
            return value, None, None
        spread = np.sum((cross - value * size) ** 2) * self.n_clusters / (self.n_clusters - 1)
        half = 1.96 * float(np.sqrt(spread) / size.sum())
        return value, value - half, value + half

    def _likelihoods(self, squares: Floats) -> Floats:
        """Log likelihoods (clusters, scales) of residuals whose squared sizes per position are `squares`."""
        dims = (self._space.dims / self.design_effect)[:, None]
        variance = _SCALES**2 + self._space.rounding[:, None]
        ratio = squares[:, None] / self.design_effect / (_DEGREES * variance)
        logs = (
            gammaln((_DEGREES + dims) / 2) - gammaln(_DEGREES / 2) - dims / 2 * np.log(_DEGREES * np.pi * variance)
            - (_DEGREES + dims) / 2 * np.log1p(ratio)
        )  # fmt: skip
        found = np.zeros((self.n_clusters, len(_SCALES)))
        np.add.at(found, self._index, logs)
        return found

    def _mixed(self, like: Floats, noise: _Bools) -> float:
        """Evidence of a deviation in all clusters, or in a share of them."""
        parts = self._by_share(like, noise, _SHARES)
        whole = _integral(like, noise) + np.log(1 - _MIXED)
        return float(np.logaddexp(whole, _log_sum(parts) + np.log(_MIXED / len(_SHARES))))

    def _by_share(self, like: Floats, noise: _Bools, shares: Floats) -> Floats:
        one, other = like[:, noise][:, None, :, None], self._golden[:, self.faithful][:, None, None, :]
        with np.errstate(divide="ignore"):
            logs = np.log(shares)[:, None, None], np.log1p(-shares)[:, None, None]
        both = np.logaddexp(logs[0] + one, logs[1] + other).sum(axis=0)
        return np.asarray(_log_sum(both.reshape(len(shares), -1)) - np.log(both[0].size), dtype=np.float64)


def _integral(like: Floats, noise: _Bools) -> float:
    """Evidence over the scales `noise`, all alike a priori."""
    return float(_log_sum(like[:, noise].sum(axis=0)) - np.log(noise.sum()))


def _log_sum(logs: Sequence[float] | Floats) -> Any:
    """Ln of the sum of exponentials along the last axis. Plain, because scipy's takes most of the time of a match."""
    values = np.asarray(logs, dtype=np.float64)
    most = values.max(axis=-1, keepdims=True)
    return np.log(np.exp(values - most).sum(axis=-1)) + most[..., 0]


def _scores(
    judge: _Judge, groups: Mapping[str, tuple[str, ...]], names: Sequence[str], families: Mapping[str, str]
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
        class_prior = _LOG_PRIOR["faithful"] + np.log(0.5) if own == FAITHFUL else _LOG_PRIOR["bank"] - np.log(others)
        prior = float(class_prior) - np.log(len(members[own]))
        scores[name] = judge.hypothesis(column, faithful=own == FAITHFUL) + prior
        if own != FAITHFUL:
            near += [judge.near(column, gain) for gain in _NEAR_GAINS]
    parts = [judge.unexplained() + np.log(0.5)] + [one + np.log(0.5 / len(near)) for one in near]
    scores[UNEXPLAINED] = float(_log_sum(parts) + _LOG_PRIOR["unexplained"])
    return {name: float(value) for name, value in scores.items()}


def _twins(names: Sequence[str], space: Space) -> dict[str, tuple[str, ...]]:
    """Hypotheses that predict the same by the first of them."""
    size = np.sqrt(np.diag(space.gram))
    found: dict[str, tuple[str, ...]] = {}
    for at, name in enumerate(names):
        for first, twins in found.items():
            other = names.index(first)
            ratio = size[at] / size[other] if size[other] > 0 else 0.0
            alike = space.gram[at, other] > _TWIN_COSINE * size[at] * size[other]
            if alike and 1 / _TWIN_SIZE < ratio < _TWIN_SIZE:
                found[first] = (*twins, name)
                break
        else:
            found[name] = ()
    return found


def _nearest(
    judge: _Judge, found: Sequence[Candidate], names: Sequence[str], groups: Mapping[str, tuple[str, ...]]
) -> Candidate | None:
    """The first candidate; where that predicts nothing, the hypothesis of which a part explains most."""
    if found[0].name in groups or not groups:
        return found[0] if found[0].name in groups else None
    best = max(groups, key=lambda name: max(judge.near(names.index(name), gain) for gain in (*_NEAR_GAINS, *_GAINS)))
    return next(one for one in found if one.name == best)


def _by_family(found: Sequence[Candidate]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for one in found:
        sums[one.family] = sums.get(one.family, 0.0) + one.posterior
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _family(name: str, families: Mapping[str, str]) -> str:
    return {GOLDEN: FAITHFUL, UNEXPLAINED: UNEXPLAINED}.get(name) or families[name]


def _rms(rows: Sequence[Floats]) -> float:
    return float(np.sqrt(np.mean(np.concatenate([centred(row) for row in rows]) ** 2)))
