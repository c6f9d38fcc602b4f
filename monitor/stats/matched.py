"""The matched filter: which of many predicted deviations an endpoint shows.

Quantisation and most other faults of serving deviate from the golden weights in a way that golden weights can predict.
So what is observed is compared with what each hypothesis predicts, sizes included.
Source: measured in docs/identify.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln

from monitor.stats.hypotheses import SCALES, Candidate, Weighing, weigh
from monitor.stats.matched_space import Floats, Space, centred, grid_of, space_of, step_of
from monitor.stats.twins import twins

_DEGREES = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What the deviations say. ``schemes`` and ``families`` in descending order of their posterior.

    ``nearest`` is the most similar hypothesis, which is only a hint when the first of the families is unexplained.
    ``share`` of the clusters deviate as the first scheme predicts (the others as golden), with a 95% credible interval;
    ``rest`` is the posterior that those others show no more noise than faithful engines do, None for a pair;
    ``slope`` is the regression of observed on predicted deviations of ``nearest``, with a 95% interval over clusters.
    ``rms_nats`` is the size of the observed deviations, ``residual_nats`` that of what the prediction of ``nearest``,
    times ``slope``, leaves; ``log_bayes`` the evidence of the first scheme against golden weights, in nats. ``step`` is
    what logprobs are rounded to, ``grid`` what the logits behind them are, in the median; 0 for no rounding.

    Of text alone (``by_text``, `monitor.stats.matched_text`) there is no slope; sizes are those that choices need, None
    without choices; ``missed`` counts by hypothesis the choices that are not its own first. ``n_drawn`` of the ``n``
    tokens were drawn at temperature 1.
    """

    schemes: tuple[Candidate, ...]
    families: Mapping[str, float]
    nearest: Candidate | None
    share: float | None
    share_low: float | None
    share_high: float | None
    rest: float | None = None
    slope: float | None = None
    slope_low: float | None = None
    slope_high: float | None = None
    rms_nats: float | None
    residual_nats: float | None
    log_bayes: float
    step: float = 0.0
    grid: float = 0.0
    design_effect: float = 1.0
    n: int
    n_clusters: int
    missed: Mapping[str, int] = field(default_factory=dict)
    by_text: bool = False
    n_drawn: int = 0


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
        The same of each hypothesis, aligned; none may be called as what is always considered is
        (`monitor.stats.hypotheses`).
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
    over a logarithmic grid. Under golden weights x_h is zero and the scale at most `faithful_nats`. Under a sampler g
    is 1 and the scale at most 1.6 times that: all that it does is computed alike by every engine. Unexplained is a
    larger scale, or a part (0.2 or 0.4) of some x_h. Each may hold for a share of the clusters only, golden weights
    for the others. The free directions and squares of every position are divided by the design effect.
    """
    names = list(predicted)
    rows = [[np.asarray(lp - gold) for lp, gold in zip(predicted[name], golden, strict=True)] for name in names]
    seen = [np.asarray(lp - gold) for lp, gold in zip(endpoint, golden, strict=True)]
    step, grid = step_of(endpoint), grid_of(endpoint)
    space = space_of(seen, rows, rounding=np.maximum(step, grid))
    judge = _Judge(space, clusters, faithful_nats, [families[name] for name in names])
    found = weigh(judge, names, families, twins(names, space.gram))
    nearest = found.nearest
    slope = (None,) * 3 if nearest is None else judge.slope(names.index(nearest.name))
    shares = found.share or (None,) * 3
    return Match(
        schemes=found.schemes, families=found.families, nearest=nearest, share=shares[0], share_low=shares[1],
        share_high=shares[2], rest=found.rest, slope=slope[0], slope_low=slope[1], slope_high=slope[2],
        rms_nats=_rms(seen),
        residual_nats=_rms(seen) if nearest is None or slope[0] is None else _rms(
            [row - slope[0] * other for row, other in zip(seen, rows[names.index(nearest.name)], strict=True)]
        ),
        log_bayes=found.log_bayes, step=step, grid=float(np.median(grid[grid > 0])) if (grid > 0).any() else 0.0,
        design_effect=judge.design_effect, n=len(seen), n_clusters=judge.n_clusters,
    )  # fmt: skip


class _Judge(Weighing):
    """Likelihoods out of a space of deviations."""

    def __init__(self, space: Space, clusters: Sequence[str], faithful_nats: float, families: Sequence[str]) -> None:
        super().__init__(clusters, faithful_nats, families)
        self._space, self.design_effect = space, space.design_effect(families)

    def at_positions(self, column: int | None, gain: float) -> Floats:
        """Multivariate Student t of what the prediction leaves."""
        squares = self._space.observed if column is None else self._space.distance(column, gain)
        dims = (self._space.dims / self.design_effect)[:, None]
        variance = SCALES**2 + self._space.rounding[:, None]
        ratio = squares[:, None] / self.design_effect / (_DEGREES * variance)
        return np.asarray(
            gammaln((_DEGREES + dims) / 2) - gammaln(_DEGREES / 2) - dims / 2 * np.log(_DEGREES * np.pi * variance)
            - (_DEGREES + dims) / 2 * np.log1p(ratio)
        )  # fmt: skip

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


def _rms(rows: Sequence[Floats]) -> float:
    return float(np.sqrt(np.mean(np.concatenate([centred(row) for row in rows]) ** 2)))
