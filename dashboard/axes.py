"""What charts share: rows, their specification, hollow marks, and time axes that never have a zero range."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import altair as alt
import orjson

HEIGHT = 240
"""Pixels of a time chart."""

ChartLike = alt.Chart | alt.LayerChart | alt.FacetChart

Row = dict[str, Any]
"""One mark as the chart reads it; ``at`` is an ISO instant where there is a time axis."""


def inline(rows: Sequence[Row]) -> alt.Chart:
    """A chart of these rows, which travel within its specification.

    As one text: Altair copies and validates its data at every step, value by value, which took most of the time of a
    page. `specification` makes rows of it again.
    """
    return alt.Chart(alt.InlineData(values=orjson.dumps(list(rows)).decode()))


def specification(chart: ChartLike) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, with its rows as datasets by name."""
    # Vega would make every layer a thing to read out, empty ones without a name; the picture as a whole has its words.
    made: dict[str, Any] = chart.configure_mark(aria=False).to_dict(validate=False)
    made["config"].pop("view", None)  # Altair's sizes; Streamlit has its own
    made["datasets"] = {name: orjson.loads(rows) for name, rows in made["datasets"].items()}
    return made


# Channels by their classes: of a dictionary, as `alt.value` makes one, Altair finds the class by looking at all it has.
FADED = alt.OpacityValue(1, condition={"test": "datum.hollow", "value": 0.4})
"""Opacity of the interval of a mark; rows say ``hollow``."""


def hollowed(field: str, scale: alt.Scale, legend: alt.Legend) -> dict[str, Any]:
    """Encodings of points in a colour by `field`: only the outline where a row is ``hollow``."""
    return {
        "fill": alt.Fill(f"{field}:N", scale=scale, legend=legend),
        "stroke": alt.Stroke(f"{field}:N", scale=scale, legend=None),
        "fillOpacity": alt.FillOpacityValue(1, condition={"test": "datum.hollow", "value": 0}),
    }


def _span(rows: Sequence[Row]) -> tuple[datetime, datetime]:
    times = [datetime.fromisoformat(row["at"]) for row in rows]
    return min(times), max(times)


def time_axis(rows: Sequence[Row]) -> alt.Axis:
    """Ticks in UTC, as fine as the span asks for."""
    first, last = _span(rows)
    formats = [(timedelta(minutes=10), "%H:%M:%S"), (timedelta(hours=30), "%H:%M"), (timedelta(days=6), "%m-%d %H:%M")]
    written = next((written for longest, written in formats if last - first < longest), "%m-%d")
    return alt.Axis(title="UTC", format=written, tickCount=5, labelOverlap=True, grid=False)


def time_scale(rows: Sequence[Row]) -> alt.Scale:
    """From the first to the last bucket in UTC (whatever the browser's zone), at least two minutes wide."""
    first, last = _span(rows)
    room = max(timedelta(minutes=1) - (last - first) / 2, (last - first) / 50)
    return alt.Scale(type="utc", domain=[_instant(first - room), _instant(last + room)])


def _instant(at: datetime) -> alt.DateTime:
    """A bound of the time axis. Milliseconds as a number do not survive the way to the browser (Streamlit 1.67)."""
    return alt.DateTime(
        utc=True, year=at.year, month=at.month, date=at.day, hours=at.hour, minutes=at.minute, seconds=at.second
    )
