"""HTML of the pages, built so that text cannot become markup: every string is escaped, only `tag` makes elements.

Streamlit's Markdown cannot draw a grid of 200 endpoints in one element, or shade single tokens. What is made here goes
through `st.html`, which sanitises it once more (DOMPurify) and runs no scripts.
"""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

from monitor.plurals import plural

MOST_CHARS = 4000
"""Characters of one text that a page shows; the rest is counted."""

_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {127: "\u2421"}
_VOID = frozenset({"br", "img", "rect", "circle", "polyline"})
_SVG = "http://www.w3.org/2000/svg"

_ELEMENT = re.compile(r"<(table|thead|tbody|tr|th|td)((?: [^<>]*)?)>")
_ROLES = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"}


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of finished HTML. Made by `tag`, `joined` and `data` alone."""

    text: str


Child = Markup | str | None


def tag(name: str, *children: Child, **attributes: str | float | None) -> Markup:
    """Return an element. Attributes are escaped; a trailing ``_`` falls away, another is a ``-``; None is none."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_visible(str(value)), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name == "svg":
        written += f' xmlns="{_SVG}"'
    if name in _VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children).text}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Return pieces one after the other; strings are escaped."""
    return Markup("".join(_written(child) for child in children if child is not None))


def data(text: str, *, most: int = MOST_CHARS, class_: str | None = None) -> Markup:
    """Text of somebody else, as it is: cut when it is long, in a direction of its own, controls as pictures."""
    rest = len(text) - most
    told = tag("span", f" … and {plural(rest, 'more character')}", class_="wm-soft") if rest > 0 else None
    return joined([tag("bdi", text[:most], dir="auto", class_=class_), told])


def link(page: str, label: Child, **parameters: str) -> Markup:
    """A link to another page, which anybody can copy."""
    return tag("a", label, href=f"{page}?{urlencode(parameters)}" if parameters else page)


def picture(drawing: Markup, *, alt: str) -> Markup:
    """An SVG as an image of its own: the sanitiser takes SVG elements out of a page."""
    packed = base64.b64encode(drawing.text.encode()).decode()
    return tag("img", src=f"data:image/svg+xml;base64,{packed}", alt=alt)


def table(
    heads: Sequence[str], rows: Iterable[Iterable[Child]], *, label: str, cards: bool = False, upright: bool = False
) -> Markup:
    """A table in a box that scrolls when it is too large. Cells that are no ``td`` or ``th`` yet become ``td``.

    With `cards` each row becomes a card on a phone, its cells under the names of their columns. Roles say that it
    stays a table: what is laid out as blocks is none any more to a screen reader. With `upright` names of columns run
    upwards, so that many narrow columns fit beside each other.
    """
    body = [[_titled(_cell(one, "td"), head) for one, head in zip(row, heads, strict=True)] for row in rows]
    numeric = {place for row in body for place, one in enumerate(row) if ' class="num"' in one.text[:200].split(">")[0]}
    titles = [
        _cell(one, "th", scope="col", class_="num" if place in numeric else None) for place, one in enumerate(heads)
    ]
    inside = tag("thead", tag("tr", *titles)), tag("tbody", *(tag("tr", *row) for row in body))
    made = as_cards(tag("table", *inside)) if cards else tag("table", *inside)
    looks = "wm wm-tall wm-upright" if upright else "wm wm-tall"
    return tag("div", made, class_=looks, tabindex=0, role="region", aria_label=label)


def figures(*texts: str) -> list[Markup]:
    """Cells of a table that hold numbers."""
    return [tag("td", text, class_="num") for text in texts]


def _cell(child: Child, name: str, **attributes: str | None) -> Markup:
    made = isinstance(child, Markup) and child.text.startswith(("<td", "<th"))
    return child if made and isinstance(child, Markup) else tag(name, child, **attributes)


def as_cards(made: Markup) -> Markup:
    """A table whose rows become cards on a phone, with the role of each element written out.

    No text can be taken for an element: `tag` alone makes those, everything else is escaped.
    """
    named = _ELEMENT.sub(lambda found: f'<{found[1]} role="{_role(found[1], found[2])}"{found[2]}>', made.text)
    return Markup(named.replace("<table", '<table class="cards"', 1))


def _role(name: str, attributes: str) -> str:
    return ("rowheader" if 'scope="row"' in attributes else "columnheader") if name == "th" else _ROLES[name]


def _titled(cell: Markup, head: str) -> Markup:
    """The cell with the name of its column, for the style sheet."""
    return Markup(f'<td data-label="{escape(head, quote=True)}"{cell.text[3:]}') if cell.text[:3] == "<td" else cell


def _written(child: Markup | str) -> str:
    return child.text if isinstance(child, Markup) else escape(_visible(child), quote=False)


def _visible(text: str) -> str:
    """Controls become their pictures, so that nobody has to wonder about an empty place; lone surrogates too."""
    return text.translate(_PICTURES).encode("utf-8", "replace").decode()
