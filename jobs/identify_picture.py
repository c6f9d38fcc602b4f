"""The picture of an identification: observed against predicted deviations, the posterior as bars, and strips."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap

import numpy as np

from jobs import identify_strips
from monitor.identified_parts import Part, told_parts
from monitor.results import Verdict
from monitor.stats.matched_space import Floats, centred
from monitor.stats.posterior import posterior_text

_SIDE, _LEFT, _TOP, _GAP, _BARS, _ROW = 360, 70, 84, 190, 240, 30
_COLUMNS = 150  # characters of a line
_OBSERVED, _BAR, _GREY = "#1b5e9c", "#1b7f5c", "#555"
_STYLE = "font-family='system-ui, sans-serif' font-size='12'"


def svg(verdict: Verdict, observed: Sequence[Floats], predicted: Sequence[Floats]) -> str:
    """Return the picture as SVG: each dot is a listed token; on the diagonal, the prediction is exact.

    Below, some positions token by token. Of text alone, without `observed`, bars count the tokens that are not a
    variant's own first choice; of drawn text they say how much likelier a variant makes it.
    """
    parts = told_parts(verdict.details)
    what = ", ".join(f"{one.share:.0%} {one.label}" for one in parts) or verdict.cause or verdict.status
    title = f"{verdict.endpoint}: {what}"
    nearest, strips = str(verdict.details["nearest"]), verdict.details["strips"]
    width, below = _LEFT + _SIDE + _GAP + _BARS + 100, _TOP + _SIDE + 60
    height = below + identify_strips.height(strips)
    left = _dots(observed, predicted, nearest) if len(observed) else _misses(verdict)
    rows = identify_strips.drawn(strips, nearest, left=_LEFT, top=below)
    body = "\n".join((*left, *_bars(verdict.details["schemes"]), *_answering(parts), *rows))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' "
        f"role='img' {_STYLE}>\n<title>{escape(title)}</title>\n<rect width='100%' height='100%' fill='white'/>\n"
        f"<text x='16' y='24' font-size='15' font-weight='600'>{escape(title)}</text>\n"
        f"{_reason(verdict.reason)}\n{body}\n</svg>\n"
    )


def _reason(text: str) -> str:
    """The sentence, on at most two lines."""
    lines = wrap(text, _COLUMNS, max_lines=2, placeholder=" ...")
    return "".join(
        f"<text x='16' y='{44 + 16 * at}' fill='{_GREY}'>{escape(line)}</text>" for at, line in enumerate(lines)
    )


def _misses(verdict: Verdict) -> Iterator[str]:
    missed, n = verdict.details["missed"], verdict.n - verdict.details["n_drawn"]
    if not missed:
        yield from _gains(verdict)
        return
    yield f"<text x='{_LEFT}' y='{_TOP + 4}' font-weight='600'>of {n} tokens, not its own first choice</text>"
    yield from _counted({name: (count / max(n, 1), str(count)) for name, count in missed.items()})


def _gains(verdict: Verdict) -> Iterator[str]:
    gains = verdict.details["gains_nats"]
    most = max([1e-6, *map(abs, gains.values())])
    words = "drawn tokens likelier than under golden, nats each"
    yield f"<text x='{_LEFT}' y='{_TOP + 4}' font-weight='600'>{words}</text>"
    yield from _counted({name: (max(0.0, value) / most, f"{value:+.3f}") for name, value in gains.items()})


def _counted(rows: Mapping[str, tuple[float, str]]) -> Iterator[str]:
    """Bars with a share of the width, and what stands behind each."""
    for number, (name, (share, words)) in enumerate(rows.items()):
        y, wide = _TOP + 22 + _ROW * number, share * _SIDE * 0.7
        yield f"<text x='{_LEFT + 50}' y='{y + 13}' text-anchor='end'>{escape(str(name))}</text>"
        yield f"<rect x='{_LEFT + 60}' y='{y}' width='{max(1.0, wide):.1f}' height='18' fill='{_OBSERVED}'/>"
        yield f"<text x='{_LEFT + 66 + wide:.1f}' y='{y + 13}' fill='{_GREY}'>{words}</text>"


def _dots(observed: Sequence[Floats], predicted: Sequence[Floats], name: str) -> Iterator[str]:
    x, y = (np.concatenate([centred(row) for row in rows]) for rows in (predicted, observed))
    most = max(float(np.abs(x).max()), float(np.abs(y).max()), 1e-6)
    right, bottom = _LEFT + _SIDE, _TOP + _SIDE
    yield f"<rect x='{_LEFT}' y='{_TOP}' width='{_SIDE}' height='{_SIDE}' fill='none' stroke='#e3e3e3'/>"
    yield f"<line x1='{_LEFT}' y1='{bottom}' x2='{right}' y2='{_TOP}' stroke='#333' stroke-dasharray='5 3'/>"
    for across, up in zip(x.tolist(), y.tolist(), strict=True):
        place = _LEFT + (across / most + 1) / 2 * _SIDE, bottom - (up / most + 1) / 2 * _SIDE
        yield f"<circle cx='{place[0]:.1f}' cy='{place[1]:.1f}' r='2.2' fill='{_OBSERVED}' fill-opacity='.45'/>"
    for value, at in ((-most, _LEFT), (0.0, _LEFT + _SIDE / 2), (most, right)):
        yield f"<text x='{at}' y='{bottom + 16}' text-anchor='middle' fill='{_GREY}'>{value:.2g}</text>"
    for value, level in ((-most, bottom), (0.0, bottom - _SIDE / 2), (most, _TOP)):
        yield f"<text x='{_LEFT - 8}' y='{level + 4}' text-anchor='end' fill='{_GREY}'>{value:.2g}</text>"
    label = f"predicted for {name}, nats"
    yield f"<text x='{_LEFT + _SIDE / 2}' y='{bottom + 36}' text-anchor='middle'>{escape(label)}</text>"
    turned = f"transform='translate(18 {_TOP + _SIDE / 2}) rotate(-90)'"
    yield f"<text {turned} text-anchor='middle'>observed deviation from golden, nats</text>"


def _answering(parts: Sequence[Part]) -> Iterator[str]:
    """Who answers which share of the requests, with the intervals as lines; nothing where one backend answers."""
    left, top = _LEFT + _SIDE + _GAP, _TOP + _SIDE - _ROW * 2 - 18
    if parts:
        yield f"<text x='{left}' y='{top - 8}' font-weight='600'>share of the requests</text>"
    for number, one in enumerate(parts):
        y = top + _ROW * number
        yield f"<text x='{left - 10}' y='{y + 13}' text-anchor='end'>{escape(one.label)}</text>"
        yield f"<rect x='{left}' y='{y}' width='{max(1.0, one.share * _BARS):.1f}' height='18' fill='{_OBSERVED}'/>"
        ends = left + one.low * _BARS, left + one.high * _BARS
        yield f"<line x1='{ends[0]:.1f}' y1='{y + 9}' x2='{ends[1]:.1f}' y2='{y + 9}' stroke='#333' stroke-width='2'/>"
        words = f"{one.share:.0%} ({one.range})"
        yield f"<text x='{ends[1] + 6:.1f}' y='{y + 13}' fill='{_GREY}'>{words}</text>"


def _bars(schemes: Sequence[dict[str, object]]) -> Iterator[str]:
    left = _LEFT + _SIDE + _GAP
    yield f"<text x='{left}' y='{_TOP + 4}' font-weight='600'>posterior</text>"
    for number, one in enumerate(schemes):
        y, share = _TOP + 22 + _ROW * number, float(str(one["posterior"]))
        yield f"<text x='{left - 10}' y='{y + 13}' text-anchor='end'>{escape(str(one['name']))}</text>"
        yield f"<rect x='{left}' y='{y}' width='{max(1.0, share * _BARS):.1f}' height='18' fill='{_BAR}'/>"
        words = escape(posterior_text(share))
        yield f"<text x='{left + share * _BARS + 6:.1f}' y='{y + 13}' fill='{_GREY}'>{words}</text>"
