"""What this process has taken in since it started, as counters and histograms for ``/metrics``.

Names and buckets of the ``gen_ai_client_*`` families are those of OpenTelemetry's semantic conventions for clients of
generative models (github.com/open-telemetry/semantic-conventions-genai, status: development), written the way
Prometheus writes units. Time per output token is no time per chunk, so that family carries our own name.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock

from storage.prometheus import Family, Sample
from storage.rows import Row, Rows

_OPERATION_S = tuple(0.01 * 2**i for i in range(14))
_FIRST_S = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKEN_S = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0)
_TOKENS = tuple(float(4**i) for i in range(14))

_TIMED = ("valid", "no token")
"""Measured by ourselves, and well. Of real traffic others took the times: its measurement is missing."""

_Labels = tuple[tuple[str, str], ...]
_HISTOGRAMS: Mapping[str, tuple[tuple[float, ...], str]] = {
    "gen_ai_client_operation_duration_seconds": (_OPERATION_S, "From the request's first byte to the answer's last."),
    "gen_ai_client_operation_time_to_first_chunk_seconds": (_FIRST_S, "Request's first byte to first event."),
    "gen_ai_client_token_usage": (_TOKENS, "Tokens per request, as the endpoint counts them."),
    "weighmaster_ttft_seconds": (_FIRST_S, "From the request's first byte to the first token in any channel."),
    "weighmaster_time_per_output_token_seconds": (_TOKEN_S, "Time per generated token after the first event."),
}
_COUNTERS: Mapping[str, str] = {
    "weighmaster_exchanges_total": "Requests by how they ended.",
    "weighmaster_slots_total": "Scheduled instants by what became of them.",
    "weighmaster_ingested_rows_total": "Rows taken in, by table; rejected are entries that could not be understood.",
}


@dataclass(slots=True)
class _Histogram:
    counts: list[int]
    total: float = 0.0


@dataclass(slots=True)
class Tally:
    """Counts rows after they were committed. Safe to use from several threads."""

    _lock: Lock = field(default_factory=Lock)
    _counters: dict[str, Counter[_Labels]] = field(default_factory=lambda: {name: Counter() for name in _COUNTERS})
    _histograms: dict[str, dict[_Labels, _Histogram]] = field(
        default_factory=lambda: {name: {} for name in _HISTOGRAMS}
    )

    def add(self, projected: Iterable[Rows]) -> None:
        """Count what was taken in."""
        with self._lock:
            for rows in projected:
                self._add(rows)

    def _add(self, rows: Rows) -> None:
        for table, more in rows.items():
            self._counters["weighmaster_ingested_rows_total"][("table", table),] += len(more)
        for slot in rows.get("slots", ()):
            labels = (("endpoint", slot["endpoint"]), ("probe", slot["probe"]), ("state", slot["state"]))
            self._counters["weighmaster_slots_total"][labels] += 1
        runs = {run["run_id"]: run for run in rows.get("runs", ())}
        for exchange in rows.get("exchanges", ()):
            self._exchange(runs[exchange["run_id"]], exchange)

    def _exchange(self, run: Row, exchange: Row) -> None:
        own = (("endpoint", run["endpoint"]), ("probe", run["probe"]), ("vantage", run["vantage"]))
        self._counters["weighmaster_exchanges_total"][*own, ("outcome", exchange["outcome"])] += 1
        said = (
            ("endpoint", run["endpoint"]), ("gen_ai_operation_name", "chat"),
            ("gen_ai_provider_name", run["provider"]), ("gen_ai_request_model", run["model"]),
        )  # fmt: skip
        for name, labels, value in _measured(exchange, said):
            buckets = _HISTOGRAMS[name][0]
            held = self._histograms[name].setdefault(labels, _Histogram([0] * (len(buckets) + 1)))
            held.counts[bisect_left(buckets, value)] += 1
            held.total += value

    def families(self) -> Iterator[Family]:
        """All counters and histograms."""
        with self._lock:
            for name, text in _COUNTERS.items():
                counted = tuple(Sample(labels=dict(labels), value=n) for labels, n in self._counters[name].items())
                yield Family(name=name, kind="counter", text=text, samples=counted)
            for name, (buckets, text) in _HISTOGRAMS.items():
                held = self._histograms[name].items()
                samples = tuple(sample for labels, one in held for sample in _samples(labels, buckets, one))
                yield Family(name=name, kind="histogram", text=text, samples=samples)


def _measured(exchange: Row, said: _Labels) -> Iterator[tuple[str, _Labels, float]]:
    """What the histograms take of an exchange: timings only where they are valid, absence never as zero."""
    failed = exchange["outcome"] not in {"ok", "ok_length"}
    labels = (*said, ("error_type", exchange["outcome"])) if failed else said
    timings = {
        "gen_ai_client_operation_duration_seconds": ("eof_ms", labels),
        "gen_ai_client_operation_time_to_first_chunk_seconds": ("first_event_ms", said),
        "weighmaster_ttft_seconds": ("ttft_ms", said),
        "weighmaster_time_per_output_token_seconds": ("tpot_ms", said),
    }
    for name, (column, which) in timings.items():
        if exchange[column] is not None and exchange["measurement"] in _TIMED:
            yield name, which, exchange[column] / 1e3
    for kind, column in (("input", "prompt_tokens"), ("output", "completion_tokens")):
        if exchange[column] is not None:
            yield "gen_ai_client_token_usage", (*said, ("gen_ai_token_type", kind)), float(exchange[column])


def _samples(labels: _Labels, buckets: tuple[float, ...], held: _Histogram) -> Iterator[Sample]:
    edges = [*(f"{edge:g}" for edge in buckets), "+Inf"]
    for edge, count in zip(edges, accumulate(held.counts), strict=True):
        yield Sample(labels={**dict(labels), "le": edge}, value=count, suffix="_bucket")
    yield Sample(labels=dict(labels), value=held.total, suffix="_sum")
    yield Sample(labels=dict(labels), value=sum(held.counts), suffix="_count")
