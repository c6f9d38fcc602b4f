"""Short ways to put nouns into a store and to look at its answers."""

from typing import Any

from monitor.results import Observation
from storage.interface import ReadStore
from tests.storage.factories import entries, minutes, run_record


def put(store: ReadStore, *nouns: object, writer: str = "w") -> int:
    """Ingest `nouns` after what `writer` wrote before."""
    return store.ingest(writer, entries(*nouns, start=store.mark(writer) + 1))


def run_ids(answer: dict[str, Any]) -> list[str]:
    return [record["run"]["run_id"] for record in answer["records"]]


def verdict_ids(store: ReadStore, endpoint_name: str | None, detector: str | None) -> list[str]:
    return [v["verdict_id"] for v in store.verdicts(endpoint_name, detector, limit=9)["verdicts"]]


def metrics(store: ReadStore) -> dict[str, Any]:
    (one,) = store.overview()["endpoints"]
    measured: dict[str, Any] = one["metrics"]
    return measured


def measure(store: ReadStore, values: dict[float, float]) -> None:
    put(
        store,
        *[
            run_record(f"m{at}", at=minutes(at), n=0, observations=[Observation(metric="ttft_ms", value=value, n=1)])
            for at, value in values.items()
        ],
    )
