"""The table of the last exchanges, and what was said in one of them. Model text is shown as code, never as Markdown."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard.evidence import exchange_row, exchange_text
from dashboard.words import DASH, metric_label, stamp
from monitor.types import Exchange


def _columns() -> dict[str, Any]:
    """Titles, formats and definitions of the table of exchanges."""
    ms = metric_label("ttft_ms_p50").definition.replace(", median", "")
    tps = metric_label("tps_p50").definition.replace(", median", "")
    config = st.column_config
    return {
        "time": config.TextColumn("Time (UTC)", help="When the request was started."),
        "outcome": config.TextColumn("Outcome", help="How the request ended."),
        "status": config.NumberColumn("HTTP", format="%d", help="HTTP status."),
        "ttft": config.NumberColumn("TTFT ms", format="%.0f", help=ms),
        "tps": config.NumberColumn("TPS tok/s", format="%.1f", help=tps),
        "tokens": config.NumberColumn(
            "Tokens", format="%d", help="Generated tokens, counted with the golden tokenizer once the judge looked."
        ),
        "billed": config.NumberColumn("Billed", format="%d", help="Generated tokens as the endpoint counts them."),
        "prompt": config.TextColumn("Prompt", help="Name of the prompt within its set."),
        "flags": config.TextColumn("Flags", help="Findings about how the answer was sent."),
    }


def table(exchanges: Sequence[Exchange]) -> None:
    """One row per exchange, newest first."""
    rows = [exchange_row(exchange) for exchange in exchanges]
    st.dataframe(
        rows, hide_index=True, placeholder=DASH, column_config=_columns(), alt="The last exchanges, newest first"
    )


def what_was_said(exchanges: Sequence[Exchange]) -> None:
    """Prompt, answer and error of one exchange that the reader chooses."""
    known = {exchange.exchange_id: exchange for exchange in exchanges}
    with st.expander("What was said"):
        chosen = st.selectbox("Exchange", list(known), format_func=lambda key: _title(known[key]))
        for channel, text in exchange_text(known[chosen]):
            st.caption(channel)
            st.code(text, language=None, wrap_lines=True)


def _title(exchange: Exchange) -> str:
    return f"{stamp(exchange.started_at)}  {exchange.outcome}  {exchange.exchange_id}"
