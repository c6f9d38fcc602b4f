"""``weighmaster decode --explain``: when each phase of an exchange was, and what each of its events said."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from monitor.types import Capture, Exchange
from monitor.wire.annotate import Note, explained
from monitor.wire.dispatch import protocols
from monitor.wire.waterfall import Phase, waterfall

_BAR = 40
_SAID = 72


def read(capture: Capture) -> tuple[Exchange, tuple[Note, ...]]:
    """Return the record of `capture`, and what each of its events contributed."""
    return explained(capture, protocols()[capture.protocol])


def document(exchange: Exchange, events: Sequence[Note]) -> dict[str, Any]:
    """Return what ``--json --explain`` adds to the record; ``events`` becomes the list in place of their number."""
    return {
        "waterfall": [phase._asdict() for phase in waterfall(exchange)],
        "events": [
            {"at_ms": note.at_ms, "kind": note.kind, "name": note.name, "size": note.size, **note.said,
             "flags": note.flags}
            for note in events
        ],
    }  # fmt: skip


def lines(exchange: Exchange, events: Sequence[Note]) -> Iterator[str]:
    """Yield the explanation as lines of printable ASCII."""
    yield from _waterfall_lines(waterfall(exchange))
    yield ""
    yield f"{'#':>5}  {'at ms':>10}  {'gap ms':>9}  {'bytes':>6}  {'event':<10}  said"
    last: float | None = None
    for number, note in enumerate(events, 1):
        gap = None if last is None or note.at_ms is None else note.at_ms - last
        flags = f"  [{', '.join(note.flags)}]" if note.flags else ""
        told = printable(_told(note) + flags)
        yield f"{number:>5}  {_ms(note.at_ms):>10}  {_ms(gap):>9}  {note.size:>6}  {note.kind:<10}  {told}".rstrip()
        last = note.at_ms


def _waterfall_lines(phases: Sequence[Phase]) -> Iterator[str]:
    known = [ms for phase in phases for ms in phase[1:] if ms is not None]
    first, span = (min(*known, 0.0), max(known) - min(*known, 0.0)) if known else (0.0, 0.0)
    yield f"{'phase':>14}  {'at ms':>10}  {'took ms':>9}"
    for name, start, end in phases:
        took = None if start is None or end is None or start == end else end - start
        yield f"{name.replace('_', ' '):>14}  {_ms(end):>10}  {_ms(took):>9}  {_bar(start, end, first, span)}".rstrip()


def _bar(start: float | None, end: float | None, first: float, span: float) -> str:
    if start is None or end is None or span <= 0:
        return ""
    left, right = (round((ms - first) / span * (_BAR - 1)) for ms in (start, end))
    return " " * left + ("#" * (right - left) or "|")


def _ms(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.3f}"


def _told(note: Note) -> str:
    name = f"event: {note.name}; " if note.name is not None else ""
    return name + "; ".join(f"{key} {_short(value)}" for key, value in note.said.items())


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    shown = orjson.dumps(text).decode() if isinstance(value, str) else text
    return shown if len(shown) <= _SAID else f"{shown[: _SAID - 3]}..."


def printable(text: str) -> str:
    """Return `text` as one line of printable ASCII: model output may hold terminal escapes."""
    return "".join(letter if " " <= letter <= "~" else ascii(letter)[1:-1] for letter in text)
