"""A badge: a small picture that says in a few words how an endpoint stands."""

from collections.abc import Sequence
from html import escape

from monitor.comparison_figures import one_line
from monitor.results import Status, Verdict
from monitor.summary import summarise

WORDS: dict[Status, str] = {
    "pass": "✓ as declared", "suspect": "? suspect", "fail": "✗ fails", "inconclusive": "– undecided",
}  # fmt: skip
# Dark enough for white text (contrast 4.5 and more), and told apart without red and green.
_COLOURS: dict[Status, str] = {"pass": "#00664c", "suspect": "#7a5000", "fail": "#a63603", "inconclusive": "#555c63"}
_MOST = 60
_WIDE, _PAD = 7, 8  # pixels of a character at 11 px, and on each side of a text


def badge(endpoint: str, verdicts: Sequence[Verdict]) -> str:
    """Return the badge of an endpoint as SVG: its name, its verdict, and what is at fault."""
    summary = summarise(verdicts)
    said = WORDS[summary.status] if verdicts else "– not judged yet"
    cause = summary.causes[0] if summary.causes and summary.status in {"fail", "suspect"} else ""
    return svg(endpoint, f"{said}: {cause}" if cause else said, summary.status)


def svg(label: str, text: str, status: Status) -> str:
    """Return a badge: `label` on grey, `text` on the colour of `status`."""
    left, right = _short(label), _short(text)
    a, b = (_WIDE * len(part) + 2 * _PAD for part in (left, right))
    title = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{a}" height="20" fill="#3a4149"/>'
        f'<rect x="{a}" width="{b}" height="20" fill="{_COLOURS[status]}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{_text(left, _PAD, a)}{_text(right, a + _PAD, b)}</g></svg>\n"
    )


def _text(text: str, x: int, width: int) -> str:
    # Fonts differ in width: the text is fitted into its part.
    return f'<text x="{x}" y="14" textLength="{width - 2 * _PAD}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'


def _short(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= _MOST else f"{plain[: _MOST - 1]}…"
