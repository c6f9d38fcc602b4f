"""What is newest of everything as gauges for ``/metrics``. Model text, prompts and errors never become labels."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from storage.interface import Json, ReadStore
from storage.prometheus import Family, Sample


def families(store: ReadStore) -> Iterator[Family]:
    """All gauges, from the store's own reads."""
    endpoints: list[Json] = store.overview()["endpoints"]
    yield _gauge("weighmaster_endpoint_info", "What is declared of an endpoint.", map(_info, endpoints))
    yield _gauge(
        "weighmaster_metric", "Newest value of each metric (docs/probes-and-detectors.md says what it means).",
        (_one(value["value"], endpoint=one["endpoint"], metric=name)
         for one in endpoints for name, value in one["metrics"].items() if value["value"] is not None),
    )  # fmt: skip
    verdicts = [verdict for one in endpoints for verdict in one["verdicts"]]
    yield _gauge("weighmaster_verdict", "The newest verdict of each detector: 1 with its status and cause.",
                 map(_verdict, verdicts))  # fmt: skip
    yield _gauge(
        "weighmaster_verdict_effect", "Measured size of the effect behind the newest verdict.",
        (_one(verdict["effect"], endpoint=verdict["endpoint"], detector=verdict["detector"], unit=verdict["unit"])
         for verdict in verdicts if verdict["effect"] is not None),
    )  # fmt: skip
    yield _gauge("weighmaster_incidents_open", "Incidents that are open.",
                 (_one(len(one["incidents"]), endpoint=one["endpoint"]) for one in endpoints))  # fmt: skip
    yield from _last_runs(store.last_runs()["runs"])
    yield from _own(store)


def _last_runs(runs: list[Json]) -> Iterator[Family]:
    yield _gauge("weighmaster_last_run_timestamp_seconds", "When the newest run began.",
                 (_one(_seconds(one["started_at"]), **_where(one)) for one in runs))  # fmt: skip
    yield _gauge("weighmaster_endpoint_up", "1 when the newest run had at least one answer, else 0.",
                 (_one(float(one["n_answered"] > 0), **_where(one)) for one in runs if one["n_exchanges"]))  # fmt: skip
    yield _gauge("weighmaster_prober_lag_seconds", "Worst loop lag of the prober in the newest run.",
                 (_one(one["lag_ms"] / 1e3, **_where(one)) for one in runs if one["lag_ms"] is not None))  # fmt: skip


def _own(store: ReadStore) -> Iterator[Family]:
    yield _gauge("weighmaster_store_rows", "Rows per table.",
                 (_one(n, table=table) for table, n in store.counts().items()))  # fmt: skip
    yield _gauge("weighmaster_store_bytes", "Bytes on the disk; free is what is left there.",
                 (_one(n, kind=kind) for kind, n in store.sizes().items()))  # fmt: skip
    yield _gauge("weighmaster_store_works", "0 when the last ingest failed.", [_one(float(store.trouble() is None))])


def _gauge(name: str, text: str, samples: Any) -> Family:
    return Family(name=name, kind="gauge", text=text, samples=tuple(samples))


def _one(value: float, **labels: str) -> Sample:
    return Sample(labels=labels, value=value)


def _where(run: Json) -> dict[str, str]:
    return {"endpoint": run["endpoint"], "vantage": run["vantage"]}


def _info(one: Json) -> Sample:
    names = ("endpoint", "provider", "model", "reference", "precision")
    return _one(1, **{name: one[name] or "" for name in names})


def _verdict(verdict: Json) -> Sample:
    return _one(
        1, endpoint=verdict["endpoint"], detector=verdict["detector"], status=verdict["status"],
        cause=verdict["cause"] or "",
    )  # fmt: skip


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
