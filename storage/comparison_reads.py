"""The facts of a comparison out of the store or a snapshot. Rows are put together here; nothing is decided."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

import orjson

from monitor.codec import decode, encode, plain
from monitor.comparison_examples import failed, farthest
from monitor.comparison_facts import Example, Facts
from monitor.errors import StoreError
from monitor.results import GoldenView, Verdict
from monitor.stats.medians import FEWEST
from monitor.types import Endpoint, Exchange
from storage import comparison_sql as sql
from storage import queries
from storage.evidence import Evidence, folder_of
from storage.inserting import rows_of
from storage.interface import Json, ReadStore
from storage.parameters import Parameters
from storage.run_reads import judged_records, run_records
from storage.snapshot_reads import opened
from storage.snapshots import DATABASE

_EVER = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))
_LOOKED_AT = 4  # runs of a verdict, of which the first is the one that was judged
_REACH = timedelta(days=7)  # how long before a verdict its runs are looked for
_MARGIN = timedelta(days=1)  # clocks step: a run may seem later than its verdict
Rows = list[dict[str, Any]]


class Asked(Protocol):
    """What the facts are read from: a store with a database, or a snapshot of one."""

    def read(self, sql: str, **parameters: Any) -> Rows:
        """Rows of a query of ours."""
        ...

    def runs_of(self, run_ids: Sequence[str], *, since: datetime, until: datetime) -> Json:
        """These runs, of those that began between both instants, and what the golden side said of them."""
        ...


def facts_in(
    asked: Asked, *, patterns: Sequence[str] = (), model: str | None = None, since: datetime | None = None,
    until: datetime | None = None,
) -> tuple[Facts, ...]:  # fmt: skip
    """Facts of the endpoints that match one of `patterns` (all without any), by name, in a window of time."""
    endpoints = [_endpoint(row) for row in asked.read(sql.ENDPOINTS)]
    chosen = [
        one for one in endpoints
        if (not patterns or any(fnmatchcase(one.name, pattern) for pattern in patterns))
        and (model is None or model in {one.model, one.reference})
    ]  # fmt: skip
    what = {"since": since or _EVER[0], "until": until or _EVER[1], "names": [one.name for one in chosen]}
    tables = _tables(asked, what)
    verdicts = {
        one.name: [decode(Verdict, row["record"].encode()) for row in tables["verdicts"][one.name]] for one in chosen
    }
    far = _far(asked, verdicts)
    return tuple(
        _facts(one, {name: rows[one.name] for name, rows in tables.items()}, verdicts[one.name], far[one.name])
        for one in chosen
    )


def _endpoint(row: Mapping[str, Any]) -> Endpoint:
    if row["record"] is not None:
        return decode(Endpoint, row["record"].encode())
    return Endpoint(
        name=row["endpoint"], provider=row["provider"], base_url="", model=row["model"], reference=row["reference"]
    )


def _tables(asked: Asked, what: Mapping[str, Any]) -> dict[str, defaultdict[str, Rows]]:
    """The rows of every query, by endpoint."""
    queries = {
        "probes": sql.PROBES, "outcomes": sql.OUTCOMES, "tallies": sql.TALLIES, "values": sql.VALUES,
        "verdicts": sql.LATEST_VERDICTS if what["until"] == _EVER[1] else sql.VERDICTS, "past": sql.PAST,
        "fingerprints": sql.FINGERPRINTS, "examples": sql.EXAMPLES, "incidents": sql.INCIDENTS, "bills": sql.BILLS,
    }  # fmt: skip
    found = {name: _by_endpoint(asked.read(query, **_taken(query, what))) for name, query in queries.items()}
    few = [name for name in what["names"] if _is_few(found["values"][name])]
    found["singles"] = _by_endpoint(asked.read(sql.SINGLES, **{**what, "names": few}) if few else [])
    return found


def _is_few(values: Rows) -> bool:
    """Whether an interval of some metric needs single requests."""
    return len([row for row in values if row["n_runs"] >= FEWEST]) < len(sql.SERIES)


def _taken(query: str, what: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in what.items() if f"${name}" in query}


def _by_endpoint(rows: Rows) -> defaultdict[str, Rows]:
    found: defaultdict[str, Rows] = defaultdict(list)
    for row in rows:
        found[row.pop("endpoint")].append(row)
    return found


def _facts(
    endpoint: Endpoint, rows: Mapping[str, Rows], verdicts: Sequence[Verdict], far: Sequence[Example]
) -> Facts:  # fmt: skip
    document = {
        "endpoint": endpoint, "probes": rows["probes"], "tally": next(iter(rows["tallies"]), None),
        "outcomes": {row["outcome"]: row["n"] for row in rows["outcomes"]},
        "series": _by(rows["values"], "metric"), "singles": _singles(rows["singles"]),
        "verdicts": verdicts, "past": _by(rows["past"], "detector"), "bills": rows["bills"],
        "examples": (*far, *_failed(rows["examples"])),
        "incidents": [orjson.loads(row["record"]) for row in rows["incidents"]],
        "fingerprint": next((orjson.loads(row["record"]) for row in rows["fingerprints"]), None),
        **{name: sum(row[name] for row in rows["outcomes"]) for name in ("tokens_in", "tokens_out", "n_uncounted")},
    }  # fmt: skip
    return decode(Facts, encode(document))


def _by(rows: Rows, key: str) -> dict[str, dict[str, Any]]:
    return {row.pop(key): row for row in rows}


def _singles(rows: Rows) -> dict[str, dict[str, Any]]:
    # As the probe's own medians: on connections that had served before, on new ones where none was kept.
    kept = [row for row in rows if not row["fresh"]] or rows
    found = {"ttft_ms": _numbers(kept, "ttft_ms"), "tps": _numbers(rows, "tps")}
    return {name: numbers for name, numbers in found.items() if numbers["values"]}


def _numbers(rows: Rows, metric: str) -> dict[str, Any]:
    known = [row for row in rows if row[metric] is not None]
    instants = [row["at"] for row in known]
    return {
        "values": [row[metric] for row in known], "first_at": min(instants, default=None),
        "last_at": max(instants, default=None), "n_runs": len({row["run_id"] for row in known}),
    }  # fmt: skip


def _failed(rows: Rows) -> tuple[Example, ...]:
    return failed((row["probe"], decode(Exchange, row["record"].encode())) for row in rows)


def _far(asked: Asked, verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, tuple[Example, ...]]:
    """Answers farthest from golden by endpoint, of the runs that its newest verdict on weights is about, if no pass."""
    bad = {
        one.endpoint: one for own in verdicts.values() for one in own
        if one.detector == "logprob_fidelity" and one.status in {"fail", "suspect"}
    }  # fmt: skip
    ids = [run_id for one in bad.values() for run_id in one.run_ids[:_LOOKED_AT]]
    far: dict[str, tuple[Example, ...]] = dict.fromkeys(verdicts, ())
    if not ids:
        return far
    instants = [one.at for one in bad.values()]
    found = asked.runs_of(ids, since=min(instants) - _REACH, until=max(instants) + _MARGIN)
    views = {
        view["exchange_id"]: decode(GoldenView, encode(view)) for one in found["judged"] for view in one["views"]
    }
    by_endpoint = _by_run(found["records"])
    return far | {name: _farthest(by_endpoint[name], views) for name in bad}


def _by_run(records: Sequence[Mapping[str, Any]]) -> defaultdict[str, list[Mapping[str, Any]]]:
    found: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        found[record["run"]["endpoint"]].append(record)
    return found


def _farthest(records: Sequence[Mapping[str, Any]], views: Mapping[str, GoldenView]) -> tuple[Example, ...]:
    exchanges = [decode(Exchange, encode(one)) for record in records for one in record["exchanges"]]
    probes = {one["exchange_id"]: record["run"]["probe"] for record in records for one in record["exchanges"]}
    return farthest(probes, exchanges, views)


class _Snapshot:
    """A snapshot that answers like a store; the connection belongs to one thread."""

    def __init__(self, con: Any, folder: Path) -> None:
        self._con, self._evidence = con, Evidence(folder_of(folder / DATABASE))

    def read(self, sql: str, **parameters: Any) -> Rows:
        return rows_of(self._con, sql, **parameters)

    def runs_of(self, run_ids: Sequence[str], *, since: datetime, until: datetime) -> Json:
        rows = rows_of(self._con, queries.RUNS_BY_ID, run_ids=list(run_ids), since=since, until=until)
        records = run_records(self._con, self._evidence, rows)
        return {"records": records, "judged": judged_records(self._con, self._evidence, rows)}


def facts_of_snapshot(
    snapshot: Path, *, patterns: Sequence[str] = (), since: datetime | None = None, until: datetime | None = None
) -> tuple[Facts, ...]:
    """Facts in a snapshot. Raises UsageError for a folder that is none, StoreError when it cannot be read."""
    with opened(snapshot) as con:
        return facts_in(_Snapshot(con, snapshot), patterns=patterns, since=since, until=until)


def last_run_in(snapshot: Path) -> datetime | None:
    """When the newest run of a snapshot began; None when it has none."""
    with opened(snapshot) as con:
        found = rows_of(con, "SELECT max(r.started_at) AS last FROM latest_runs r")
    last: datetime | None = found[0]["last"]
    return last


def _database(store: Any) -> Asked:
    if not hasattr(store, "read"):
        raise StoreError("this store cannot be compared from: use one with a database")
    found: Asked = store
    return found


_Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]


def _comparison(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """The facts of a comparison of endpoints (a pattern in ``match``, a ``model`` or reference) in a window."""
    since, until, match, model = ask.moment("since"), ask.moment("until"), ask.maybe("match"), ask.maybe("model")

    def read() -> Json:
        patterns = () if match is None else tuple(match.split(","))
        return {"facts": plain(facts_in(_database(store), patterns=patterns, model=model, since=since, until=until))}

    return read


COMPARISONS: Mapping[str, _Plan] = {"comparison": _comparison}
"""Reads to add to `storage.api.app`."""
