"""What the pictures of a comparison show: marks with their intervals, and lines to hold them against.

The report draws them as SVG, the dashboard with Vega; which marks are hollow and what stands beside them is told here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from monitor.comparison import Estimate, Measure, ModelComparison, Row
from monitor.comparison_figures import bare, counts_text, interval_text
from monitor.comparison_measures import measure as measure_called
from monitor.comparison_order import can_be_placed, has_ends
from monitor.comparison_weights import thresholds

KL = "kl"
Kind = Literal["endpoint", "faithful", "degraded"]
"""An endpoint, a faithful engine, or a variant that was degraded on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One line of a picture: a value with its interval, in the unit of the measure, and both as text.

    ``hollow`` marks have no interval, or are no distance of weights.
    """

    name: str
    kind: Kind
    value: float
    low: float | None
    high: float | None
    text: str
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A divergence that marks are compared with: what is tolerated, or from where on it fails."""

    kind: Literal["tolerated", "fails"]
    value: float
    text: str


def is_hollow(row: Row, measure: str) -> bool:
    """Whether the mark of an endpoint is hollow: no interval, or the divergence of another prompt than golden's."""
    return not can_be_placed(row.estimates[measure])


def of_measure(model: ModelComparison, measure: Measure) -> tuple[Mark, ...]:
    """The endpoints that have a value of this measure, in the order of the comparison."""
    return tuple(_mark(row, measure) for row in model.rows if row.estimates[measure.name].value is not None)


def _mark(row: Row, measure: Measure) -> Mark:
    one = row.estimates[measure.name]
    assert one.value is not None  # noqa: S101  # asked for those that have one
    return Mark(
        name=row.endpoint.name, kind="endpoint", value=one.value, low=one.low, high=one.high,
        text=_text(one, measure), hollow=is_hollow(row, measure.name),
    )  # fmt: skip


def _text(one: Estimate, measure: Measure) -> str:
    assert one.value is not None  # noqa: S101
    ends = interval_text(one, measure.unit) if has_ends(one) else f"(no interval, {counts_text(one)})"
    return f"{bare(one.value, measure.unit)} {ends}".strip()


def on_ladder(model: ModelComparison) -> tuple[Mark, ...]:
    """The endpoints between the calibrated variants, nearest to golden first; empty where none has a divergence."""
    endpoints = of_measure(model, measure_called(KL))
    if not endpoints:
        return ()
    return tuple(sorted((*endpoints, *_rungs(model)), key=lambda mark: (mark.value, mark.name)))


def _rungs(model: ModelComparison) -> Iterator[Mark]:
    for rung in model.ladder.rungs if model.ladder else ():
        ends = "" if rung.low is None or rung.high is None else f" [{rung.low:.2g}, {rung.high:.2g}]"
        yield Mark(
            name=rung.name, kind="faithful" if rung.faithful else "degraded", value=rung.value, low=rung.low,
            high=rung.high, text=f"{rung.value:.2g}{ends}",
        )  # fmt: skip


def limits(model: ModelComparison) -> tuple[Line, ...]:
    """The thresholds that the divergences of these endpoints were held against, ascending within each kind."""
    told = [thresholds(one) for row in model.rows for one in row.verdicts if one.detector == "logprob_fidelity"]
    return (
        *(Line(kind="tolerated", value=value, text=f"tolerated {value:.2g}")
          for value in sorted({tolerated for tolerated, _ in told if tolerated})),
        *(Line(kind="fails", value=value, text=f"fails above {value:.2g}")
          for value in sorted({fails for _, fails in told if fails})),
    )  # fmt: skip
