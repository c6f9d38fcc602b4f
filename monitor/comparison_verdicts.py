"""Cells of the table of verdicts as text: the size that was measured, what it rests on, what it was compared with."""

from monitor.comparison_figures import DASH, bare
from monitor.comparison_limits import hidden_end
from monitor.comparison_weights import SURE
from monitor.plurals import plural
from monitor.results import Verdict
from monitor.stats.hypotheses import FAITHFUL
from monitor.stats.posterior import posterior_text
from monitor.tolerances import is_precision

_POSTERIOR, _JOINED, _SHAPE = "coarser_posterior", "joint_log_e", "shape"
_MUCH = 0.1
"""Share from which on a pass says little: about what 35 answers without a fault leave open."""


def effect(told: Verdict) -> str:
    """The size that a verdict measured, with its interval."""
    if told.effect is None:
        return DASH
    if told.statistic == _POSTERIOR:
        return _posterior(told, told.effect)
    if told.detector == _SHAPE:
        return _points(told, told.effect)
    unit = "share" if told.unit == "share" else "nats" if told.unit == "nats" else ""
    ends = "" if told.low is None or told.high is None else f" [{bare(told.low, unit)}, {bare(told.high, unit)}]"
    return f"{bare(told.effect, unit)}{ends}" + ("" if unit == "share" else f" {told.unit}")


def _points(told: Verdict, shift: float) -> str:
    """A difference of two shares: points, with a sign."""
    ends = "" if told.low is None or told.high is None else f" [{100 * told.low:+.1f}, {100 * told.high:+.1f}]"
    return f"{100 * shift:+.1f}{ends} points"


def _posterior(told: Verdict, coarser: float) -> str:
    """The posterior of what is not declared; a variant that is no precision of weights goes by its own name."""
    first = next(iter(told.details.get("schemes") or ()), None)
    other = first is not None and first.get("family") != FAITHFUL and not is_precision(str(first["name"]))
    if first is not None and other and first["posterior"] >= SURE:
        return f"{first['name']}: {posterior_text(float(first['posterior']))}"
    return f"coarser: {posterior_text(coarser)}"


def rests_on(told: Verdict) -> str:
    """What a verdict rests on; beside a pass also what it may hide: one of 5 answers is none of 500."""
    if told.statistic == _JOINED:
        return f"{plural(told.n, 'detector')} joined"
    n = f"n {told.n:,}"
    if told.status != "pass":
        return n
    end = hidden_end(told)
    if end is not None:
        return f"{n}, no fault shown; {'few: ' if end > _MUCH else ''}up to {bare(end, 'share')} may be hidden"
    unit = f" {told.unit}" if told.unit not in {"", "share"} else ""
    if told.mde is None:
        return n
    limit = told.threshold
    if limit is not None and told.mde > limit and bare(limit, told.unit) == bare(told.mde, told.unit):
        return f"{n}, from {bare(told.mde - limit, told.unit)}{unit} above the threshold on it would show"
    return f"{n}, from {bare(told.mde, told.unit)}{unit} on it would show"


def threshold(told: Verdict) -> str:
    """What a verdict compared its effect with."""
    if told.threshold is None:
        return DASH
    if told.detector == _SHAPE:
        return f"{100 * told.threshold:.3g} points"
    if told.statistic == _POSTERIOR:
        return f"{told.threshold:.3g}"
    return bare(told.threshold, "share") if told.unit == "share" else f"{told.threshold:.3g}"
