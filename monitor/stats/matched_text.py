"""Which of many hypotheses an endpoint's choices follow, where only its text is known.

An endpoint that takes its likeliest token takes that of its own logprobs. So the tokens of a greedy answer are, but for
the rounding of engines, the first choices of the weights that are served, and of no others. Tokens that were drawn say
less (`monitor.stats.matched_draws`); both are weighed together.
Source: measured in docs/identify.md.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from monitor.stats.checks import Floats
from monitor.stats.hypotheses import GOLDEN, SCALES, Weighing, log_sum, weigh
from monitor.stats.matched import Match
from monitor.stats.matched_draws import Draws
from monitor.stats.twins import twins

_TEMPERATURE = np.sqrt(6) / np.pi
_STRAY = 0.02
_STRAY_NATS = 1.0


def match_text(
    golden: Sequence[Floats], predicted: Mapping[str, Sequence[Floats]], chosen: Sequence[int],
    families: Mapping[str, str], clusters: Sequence[str], *, faithful_nats: float = 0.05, drawn: Draws | None = None,
) -> Match:  # fmt: skip
    """Weigh all hypotheses by choices, and by tokens that were drawn.

    Parameters
    ----------
    golden
        Golden's logprobs at each position of the tokens that come into question, natural log, finite.
    predicted
        The same of each hypothesis, aligned.
    chosen
        Which of the tokens the endpoint took.
    families, clusters, faithful_nats
        As in `monitor.stats.matched.match`; clusters of the choices, then of the drawn tokens.
    drawn
        Tokens that were drawn at temperature 1, with the hypotheses in the order of `predicted`.

    Notes
    -----
    With logprobs l of the tokens under golden weights plus g times what the hypothesis adds, and errors of each that
    have the size s, the token c is taken with the probability softmax(l / t)[c]: t = s sqrt(6) / pi makes the
    difference of two errors as wide as that of independent ones of size s (Luce's choice rule is that for Gumbel
    errors). One token in fifty is taken with errors of 1 nat whatever s is, so that a single stray choice rules
    nothing out.
    Scales, gains, shares and priors are those of `monitor.stats.hypotheses`.
    """
    names = list(predicted)
    own = [families[name] for name in names]
    judge = _Judge(golden, predicted, chosen, clusters, faithful_nats, families=own, drawn=drawn)
    found = weigh(judge, names, families, twins(names, judge.gram))
    shares = found.share or (None,) * 3
    nearest = found.nearest
    return Match(
        schemes=found.schemes, families=found.families, nearest=nearest, share=shares[0], share_low=shares[1],
        share_high=shares[2], rest=found.rest, rms_nats=judge.size(None), log_bayes=found.log_bayes, n=len(clusters),
        residual_nats=judge.size(None if nearest is None else names.index(nearest.name)),
        n_clusters=judge.n_clusters, missed=judge.missed(names) if chosen else {}, by_text=True,
        n_drawn=len(clusters) - len(chosen),
    )  # fmt: skip


class _Judge(Weighing):
    """Likelihoods of choices, then of drawn tokens: tables (positions, tokens), -inf beyond those of a position."""

    def __init__(
        self, golden: Sequence[Floats], predicted: Mapping[str, Sequence[Floats]], chosen: Sequence[int],
        clusters: Sequence[str], faithful_nats: float, *, families: Sequence[str], drawn: Draws | None,
    ) -> None:  # fmt: skip
        super().__init__(clusters, faithful_nats, families)
        self._drawn = drawn
        self._golden = _table(golden)
        self._known_there = np.isfinite(self._golden)
        self._taken = np.arange(len(chosen)), np.asarray(chosen, dtype=np.intp)
        self._shifts = [self._shift(_table(rows)) for rows in predicted.values()]

    @property
    def gram(self) -> Floats:
        """Inner products of what the hypotheses add to golden's logprobs, centred at each position."""
        count = self._known_there.sum(axis=1, keepdims=True)
        means = [np.where(self._known_there, one - one.sum(axis=1, keepdims=True) / count, 0) for one in self._shifts]
        flat = np.array([one.ravel() for one in means]).reshape(len(means), self._golden.size)
        return np.asarray(flat @ flat.T + (0.0 if self._drawn is None else self._drawn.gram()))

    def at_positions(self, column: int | None, gain: float) -> Floats:
        """Softmax choices with errors of every scale, some of them stray; then what was drawn."""
        rows = [self._choices(column, gain)]
        if self._drawn is not None:
            rows.append(self._drawn.log_likelihoods(column, gain, SCALES))
        return np.concatenate(rows)

    def _choices(self, column: int | None, gain: float) -> Floats:
        logits = self._golden if column is None else self._golden + gain * self._shifts[column]
        stray = self._log_chosen(logits, _STRAY_NATS)[:, None] + np.log(_STRAY)
        usual = np.stack([self._log_chosen(logits, scale) for scale in SCALES], axis=1) + np.log1p(-_STRAY)
        return np.asarray(np.logaddexp(usual, stray), dtype=np.float64)

    def size(self, column: int | None) -> float | None:
        """The likeliest size of errors under a hypothesis, in nats; None without choices: draws do not tell."""
        like = self._choices(column, 1.0)
        return float(SCALES[np.argmax(like.sum(axis=0))]) if len(like) else None

    def missed(self, names: Sequence[str]) -> dict[str, int]:
        """Tokens taken that are not the first choice of golden and each hypothesis."""
        varied = {name: self._golden + one for name, one in zip(names, self._shifts, strict=True)}
        tables = {GOLDEN: self._golden, **varied}
        return {name: int(np.sum(table.max(axis=1) > table[self._taken])) for name, table in tables.items()}

    def _shift(self, table: Floats) -> Floats:
        return np.subtract(table, self._golden, out=np.zeros_like(table), where=self._known_there)

    def _log_chosen(self, logits: Floats, nats: float) -> Floats:
        scaled = logits / (nats * _TEMPERATURE)
        return np.asarray(scaled[self._taken] - log_sum(scaled))


def _table(rows: Sequence[Floats]) -> NDArray[np.float64]:
    table = np.full((len(rows), max(map(len, rows), default=1)), -np.inf)
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table
