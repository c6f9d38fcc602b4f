"""The named reads of the API: which parameters each takes, and what of the store answers it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from monitor.errors import StoreError
from storage.interface import Json, ReadStore
from storage.parameters import Parameters, RefusedError

MOST_ROWS = 1000
MOST_RUNS = 200
MOST_BUCKETS = 2000
Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]
"""Takes the parameters of a request and returns the read that answers it; its docstring is the documentation."""


def healthz(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Whether the store works, whatever a monitor appends."""
    ask.anything()
    return _health(store, ask)


def _health(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    """Whether the store works: 503 with the reason when the last ingest failed or the database cannot be read."""

    def read() -> Json:
        store.mark("")  # any read: it fails when the database does not work
        if trouble := store.trouble():
            raise StoreError(trouble)
        return {"status": "ok"}

    return read


def _mark(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """The highest sequence number that the store has of a writer."""
    writer = ask.text("writer")
    return lambda: {"mark": store.mark(writer)}


def _overview(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    """Every endpoint: declaration, last run, latest verdicts and metrics, open incidents."""
    return store.overview


def _series(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """A metric of an endpoint over time: median, lowest, highest and count per bucket."""
    endpoint, metric, since, until = ask.one_endpoint(), ask.text("metric"), ask.moment("since"), ask.moment("until")
    if since is not None and until is not None and since >= until:
        raise RefusedError(400, "parameter 'since' must be before 'until'")
    buckets = ask.number("buckets", default=500, high=MOST_BUCKETS)
    return partial(store.series, endpoint, metric, since=since, until=until, buckets=buckets)


def _verdicts(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Verdicts, newest first."""
    endpoint, detector = ask.any_endpoint(), ask.maybe("detector")
    return partial(store.verdicts, endpoint, detector, limit=ask.number("limit", default=100, high=MOST_ROWS))


def _verdict(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """One verdict by its id."""
    verdict_id = ask.text("id")

    def read() -> Json:
        found = store.verdict(verdict_id)
        if found is None:
            raise RefusedError(404, f"no verdict {verdict_id[:80]!r}")
        return found

    return read


def _exchanges(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Exchanges of an endpoint, newest first."""
    endpoint, limit = ask.one_endpoint(), ask.number("limit", default=100, high=MOST_ROWS)
    return partial(store.exchanges, endpoint, limit=limit, outcome=ask.outcome("outcome"))


def _capture(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """The capture file of an exchange; where it is not kept, ``capture`` is null and ``reason`` says so."""
    exchange_id = ask.text("id")

    def read() -> Json:
        found = store.capture(exchange_id)
        if found is None:
            raise RefusedError(404, f"no exchange {exchange_id[:80]!r}")
        return found

    return read


def _incidents(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Incidents, last opened first."""
    return partial(store.incidents, ask.any_endpoint(), open_only=ask.flag("open_only"))


def _slots(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Scheduled instants and what became of them, newest first."""
    endpoint, since = ask.any_endpoint(), ask.moment("since")
    return partial(store.slots, endpoint, since=since, limit=ask.number("limit", default=100, high=MOST_ROWS))


def _runs(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Runs of an endpoint, newest first, and what the golden side said of them."""
    endpoint, probe = ask.one_endpoint(), ask.maybe("probe")
    return partial(store.runs, endpoint, probe, limit=ask.number("limit", default=20, high=MOST_RUNS))


def _unjudged(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Runs that nobody judged yet, oldest first."""
    return partial(store.unjudged, limit=ask.number("limit", default=20, high=MOST_RUNS))


def _counts(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    """Rows per table."""
    return lambda: {"counts": store.counts()}


def _last_slots(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """The latest slot of each endpoint and probe, of one vantage or of all."""
    return partial(store.last_slots, ask.maybe("vantage"))


def _coverage(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """What became of the slots since an instant, and how many tokens were used."""
    return partial(store.coverage, ask.moment("since"))


def _last_runs(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    """The newest run of each endpoint: when, from where, how many of its requests were answered."""
    return store.last_runs


READS: Mapping[str, Plan] = {
    "health": _health, "mark": _mark, "overview": _overview, "series": _series, "verdicts": _verdicts,
    "verdict": _verdict, "exchanges": _exchanges, "capture": _capture, "incidents": _incidents, "slots": _slots,
    "runs": _runs, "unjudged": _unjudged, "counts": _counts, "last-slots": _last_slots, "last-runs": _last_runs,
    "coverage": _coverage,
}  # fmt: skip
