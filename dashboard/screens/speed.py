"""Speed: how fast? Time to first token and time per token of one endpoint, over time and by region."""

from datetime import timedelta

import streamlit as st

from dashboard import cards, session
from dashboard.markup import data, figures, table, tag
from dashboard.page import chart, chosen_endpoint, draw, section
from dashboard.screen import Screen, show
from dashboard.speed_view import MOST_VANTAGES, Speeds, over_time, spread, summary, vantages
from dashboard.words import metric_label, plain, rate
from monitor.stats.rates import wilson

SCREEN = Screen(title="Speed", question="How fast?", order=4)

WINDOWS = {"24 h": timedelta(days=1), "7 d": timedelta(days=7), "30 d": timedelta(days=30)}
BUCKETS = 60
# Which requests count: those of the probe that is made for it, or all, whose prompts and lengths differ.
PROBES = {"Speed probes": "speed", "All requests": None}


def main() -> None:
    """Draw the page."""
    endpoint = chosen_endpoint(session.overview(), SCREEN, "speed")
    if endpoint is None:
        return
    left, right = st.columns(2)
    with left:
        window = st.segmented_control(
            "Window", list(WINDOWS), default="7 d", required=True, key="window", bind="query-params"
        )
    with right:
        kind = st.segmented_control(
            "Requests", list(PROBES), default="Speed probes", required=True, key="of", bind="query-params"
        )
    cards.figures(endpoint, ("ttft_ms_p50", "tpot_ms_p50", "tps_p50", "success_rate"))
    since, until = session.window(WINDOWS[window], step=timedelta(minutes=5))
    found = session.ask(
        Speeds,
        "speeds",
        slow=True,
        endpoint=endpoint.endpoint,
        probe=PROBES[kind],
        since=since,
        until=until,
        buckets=str(BUCKETS),
    )
    each = f"{WINDOWS[window] / timedelta(hours=1) / BUCKETS:.2g} h"
    for metric in ("ttft_ms", "tpot_ms"):
        label = metric_label(f"{metric}_p50")
        section(label.title.replace(" p50", ""), label.definition)
        left, right = st.columns([3, 2])
        with left:
            chart("Over time", f"Median of complete answers, one mark for each {each}, where these begin; bars from "
                  "p25 to p75, triangles at p95 (shown from 20 values on).", over_time(found, metric))  # fmt: skip
        with right:
            for vantage in vantages(found)[:MOST_VANTAGES] or [""]:
                title = plain(f"How it is spread from {vantage}") if vantage else "How it is spread"
                chart(title, "Share of complete answers by latency.", spread(found, metric, vantage))
    _counts(found)


def _counts(found: Speeds) -> None:
    section("What stands behind it", "Latencies are those of complete answers alone; how many there were is said here. "
            "A request that ran into a timeout took longer than any that is drawn.")  # fmt: skip
    rows = []
    for vantage, n, good, late in summary(found.buckets):
        share = wilson(good, n)
        ends = f"{rate(share.low or 0, 1)} to {rate(share.high or 0, 1)}" if share.low is not None else ""
        rows.append(
            [tag("td", data(vantage, most=80)), *figures(f"{n:,}", f"{good:,}", rate(good, n), ends, f"{late:,}")]
        )
    if not rows:
        st.caption("No requests in this window.")
        return
    heads = ("From", "Requests", "Complete", "Share", "95 % interval", "Timeouts")
    draw(table(heads, rows, label="Requests by place"))


if __name__ == "__main__":
    show(__file__)
