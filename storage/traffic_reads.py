"""Which answers of real traffic the store has already, so that a log that has grown is not counted twice."""

from collections.abc import Callable, Mapping
from typing import Any

from storage.interface import ReadStore
from storage.parameters import Parameters, RefusedError
from storage.store import DuckStore

_Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]

_THERE = """
SELECT e.exchange_id FROM exchanges e JOIN (
    SELECT r.run_id FROM runs r
    WHERE r.endpoint = $endpoint AND r.probe = $probe
      AND r.started_at >= $since::TIMESTAMPTZ - INTERVAL 1 DAY AND r.started_at < $until
) r ON r.run_id = e.run_id
WHERE e.endpoint = $endpoint AND e.at >= $since AND e.at < $until
"""


def _known(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """Ids of the exchanges of an endpoint that one kind of probe made in a window."""
    endpoint, probe = ask.text("of"), ask.text("probe")  # one that was never measured has none: that is no mistake
    since, until = ask.moment("since"), ask.moment("until")

    def read() -> Any:
        if since is None or until is None:
            raise RefusedError(400, "parameters 'since' and 'until' are required")
        if not isinstance(store, DuckStore):
            raise RefusedError(501, "this store cannot say which exchanges it has")
        rows = store.read(_THERE, endpoint=endpoint, probe=probe, since=since, until=until)
        return {"exchange_ids": [row["exchange_id"] for row in rows]}

    return read


KNOWN: Mapping[str, _Plan] = {"known": _known}
"""Reads under /api/ for those who pass them to `storage.api.app`."""
