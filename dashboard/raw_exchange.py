"""One exchange as it came: phases and token events over time, the bytes, and how to get and replay them."""

from dataclasses import dataclass
from typing import Any

import orjson
import streamlit as st

from dashboard import session
from dashboard.evidence_charts import timeline
from dashboard.page import chart
from monitor.errors import UsageError
from monitor.plurals import plural
from monitor.types import Capture, Exchange
from monitor.wire.annotate import Note, explained
from monitor.wire.capture_file import load_capture
from monitor.wire.dispatch import protocols
from monitor.wire.waterfall import waterfall

MOST_BYTES = 20_000
"""Bytes of a body that the page shows; all of it is in the capture file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The capture file of an exchange as a document; None where it is not kept, and why."""

    capture: dict[str, Any] | None
    reason: str | None


def raw(exchange: Exchange) -> None:
    """Draw the exchange. What is not kept is said."""
    kept = session.ask(Kept, "capture", slow=True, id=exchange.exchange_id)
    capture, trouble = _capture(kept)
    notes = _notes(capture)
    definition = (
        "Bars are phases, orange ends their instants, green ticks the events that brought tokens. Zero is the first "
        "byte of the request on an open connection; what comes before it is the connection."
    )
    tokens = [note.at_ms for note in notes if note.kind == "token" and note.at_ms is not None]
    chart("Phases and tokens", definition, timeline(waterfall(exchange), tokens), nothing="Nothing of it was timed.")
    if capture is None:
        st.caption("No bytes of this exchange:")
        st.text(trouble)
        return
    with st.expander("Bytes as they came"):
        if capture.sent:
            st.caption("Sent")
            st.code(_text(capture.sent), language=None, wrap_lines=True)
        st.caption(f"Received: {len(capture.body):,} bytes in {len(capture.reads)} reads, end {capture.end}")
        st.code(_text(capture.body) or "(nothing)", language=None, wrap_lines=True)
    name = f"{exchange.exchange_id}.capture"
    st.caption("Get the capture, read it event by event, serve it again with its own timing:")
    st.code(
        f"weighmaster db capture {exchange.exchange_id} --out {name}\nweighmaster decode --explain {name}\n"
        f"weighmaster replay {name}",
        language=None, wrap_lines=True,
    )  # fmt: skip


def _capture(kept: Kept) -> tuple[Capture | None, str]:
    if kept.capture is None:
        return None, kept.reason or "it was not kept"
    try:
        return load_capture(orjson.dumps(kept.capture)), ""
    except UsageError as error:
        return None, str(error)


def _notes(capture: Capture | None) -> tuple[Note, ...]:
    """What each event said; nothing where no protocol of ours reads it."""
    speaker = protocols().get(capture.protocol) if capture is not None else None
    return explained(capture, speaker)[1] if capture is not None and speaker is not None else ()


def _text(raw_bytes: bytes) -> str:
    """Bytes as text, what is no UTF-8 as escapes, long ones cut."""
    shown = raw_bytes[:MOST_BYTES].decode("utf-8", "backslashreplace")
    rest = len(raw_bytes) - MOST_BYTES
    return f"{shown}\n… and {plural(rest, 'more byte')}" if rest > 0 else shown
