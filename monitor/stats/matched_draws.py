"""Which of many hypotheses tokens follow that were drawn at temperature 1, where only the text is known.

A drawn token has the probability that the served weights give it. Errors of an engine move that probability up as often
as down, so one drawn token has, to first order in their size, the probability of the weights without them: noise only
widens what is learnt by (1 + s^2) and is left out. What drawn tokens therefore cannot do is tell golden weights from
small deviations that no hypothesis predicts.
Source: measured in docs/identify.md; the flattening is that of `monitor.stats.samplers`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.stats.checks import Floats
from monitor.stats.samplers import TEMPERATURES, Drawn, log_z

_STRAY = 0.02
_VARIANCE = np.pi**2 / 6
"""Of the Gumbel errors that make a softmax choice."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """Drawn tokens: ``drawn`` as golden sees them, ``predicted`` their logprobs (t,) under each hypothesis."""

    drawn: Drawn
    predicted: Sequence[Floats]

    def log_likelihoods(self, column: int | None, gain: float, scales: Floats) -> Floats:
        """Log probabilities (t, scales) under a hypothesis, or golden weights with errors of each of `scales` nats.

        Notes
        -----
        Errors of size s in golden's logits stand for a temperature of sqrt(1 + 6 s^2 / pi^2), as if they added to the
        Gumbel errors of a softmax choice, and 1.5 at most (`TEMPERATURES`). Independent errors flatten as much or less;
        other weights than golden's, which are what this is for, also move what is likely. A part `gain` of a
        hypothesis is the mixture of its distribution with golden's, which to first order is its deviation times `gain`,
        and sums to 1. One token in fifty comes from anywhere: rank r under golden with the probability
        1 / ((r + 1) (r + 2)).
        """
        usual = self._flattened(scales) if column is None else self._mixed(column, gain)[:, None]
        rank = np.maximum(self.drawn.rank, 0.0)
        stray = -np.log((rank + 1) * (rank + 2))[:, None]
        found = np.logaddexp(np.log1p(-_STRAY) + usual, np.log(_STRAY) + stray)
        return np.asarray(np.broadcast_to(found, (len(rank), len(scales))), dtype=np.float64)

    def gram(self) -> Floats:
        """Inner products of what the hypotheses add to golden's logprobs of the drawn tokens."""
        shifts = np.array([row - self.drawn.logprob for row in self.predicted])
        return np.asarray(shifts @ shifts.T)

    def _flattened(self, scales: Floats) -> Floats:
        inverse = np.maximum(1 / np.sqrt(1 + scales**2 / _VARIANCE), 1 / TEMPERATURES[-1])
        return np.asarray(self.drawn.logprob[:, None] * inverse - log_z(self.drawn)(inverse).T)

    def _mixed(self, column: int, gain: float) -> Floats:
        own = self.predicted[column]
        if gain >= 1:
            return own
        return np.asarray(np.logaddexp(np.log(gain) + own, np.log1p(-gain) + self.drawn.logprob), dtype=np.float64)
