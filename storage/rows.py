"""Nouns to rows: what each kind of entry puts into which table. Pure.

``record`` holds a noun's canonical JSON; the other columns are copies of the fields that reads filter or sort by.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from monitor.codec import decode, encode, finite
from monitor.incident import Incident
from monitor.kept import KeptCapture
from monitor.ports import Entry
from monitor.results import JudgedRun, Observation, Run, RunRecord, Verdict
from monitor.slot import Slot
from monitor.types import Endpoint, Exchange
from monitor.wire.usage import read_usage
from storage import agents, alerts
from storage.arrays import split_exchange, split_judged
from storage.instants import check_zones, maybe_utc, utc

Row = dict[str, Any]
Rows = dict[str, list[Row]]

REPLACED: Mapping[str, str] = {
    "endpoints": "endpoint", "judged": "run_id", "incidents": "incident_id", **alerts.REPLACED, **agents.REPLACED,
}  # fmt: skip
"""Tables that keep only the latest row of each key, with that key."""


def _record(noun: object) -> str:
    return encode(noun).decode()


def _whole(count: float | None) -> int | None:
    """A token count that fits the column; None for what is no count."""
    return int(count) if count is not None and count == int(count) and 0 <= count < 2**63 else None


def _endpoint(noun: Endpoint) -> Rows:
    row = {
        "endpoint": noun.name, "provider": noun.provider, "model": noun.model, "reference": noun.reference,
        "precision": noun.precision, "record": _record(noun),
    }  # fmt: skip
    return {"endpoints": [row]}


def _run(run: Run) -> Row:
    return {
        "run_id": run.run_id, "endpoint": run.endpoint, "provider": run.provider, "model": run.model,
        "reference": run.reference, "probe": run.probe, "probe_version": run.probe_version,
        "params_sha256": run.params_sha256, "vantage": run.vantage, "prober_version": run.prober_version,
        "started_at": utc("run.started_at", run.started_at), "finished_at": utc("run.finished_at", run.finished_at),
        "slot_at": maybe_utc("run.slot_at", run.slot_at), "lag_ms": finite(run.lag_ms),
        "n_exchanges": run.n_exchanges, "n_answered": run.n_answered, "record": _record(run),
    }  # fmt: skip


def _exchange(run: Run, ordinal: int, noun: Exchange) -> Rows:
    at = maybe_utc(f"exchanges.{ordinal}.started_at", noun.started_at) or utc("run.started_at", run.started_at)
    tokens = read_usage(noun.usage or {})
    record, arrays = split_exchange(noun)
    row = {
        "run_id": run.run_id, "exchange_id": noun.exchange_id, "endpoint": run.endpoint, "ordinal": ordinal, "at": at,
        "outcome": noun.outcome, "status": noun.status, "attempt": noun.attempt, "ttft_ms": finite(noun.ttft_ms),
        "tpot_ms": finite(noun.tpot_ms), "tps": finite(noun.tps), "measurement": noun.measurement,
        "prompt_tokens": _whole(tokens.input_total), "completion_tokens": _whole(tokens.generated),
        "flags": list(noun.flags), "record": record,
        # No columns: only `storage.tally` takes them.
        "first_event_ms": finite(noun.first_event_ms), "eof_ms": finite(noun.eof_ms),
    }  # fmt: skip
    return {"exchanges": [row], "tokens": _tokens(run, at, "endpoint", {noun.exchange_id: arrays})}


def _tokens(run: Run | JudgedRun, at: datetime, source: str, arrays: Mapping[str, str | None]) -> list[Row]:
    return [
        {
            "exchange_id": exchange_id, "run_id": run.run_id, "endpoint": run.endpoint, "at": at, "source": source,
            "data": data,
        }
        for exchange_id, data in arrays.items()
        if data is not None
    ]  # fmt: skip


def _observations(
    nouns: Iterable[Observation], *, run_id: str, endpoint: str, probe: str | None, source: str, at: datetime
) -> list[Row]:
    return [
        {
            "run_id": run_id, "endpoint": endpoint, "probe": probe, "source": source, "ordinal": ordinal, "at": at,
            "metric": noun.metric, "value": finite(noun.value), "n": noun.n, "k": noun.k, "reason": noun.reason,
        }
        for ordinal, noun in enumerate(nouns)
    ]  # fmt: skip


def _run_record(noun: RunRecord) -> Rows:
    run = noun.run
    asked = [_exchange(run, ordinal, exchange) for ordinal, exchange in enumerate(noun.exchanges)]
    return {
        "runs": [_run(run)],
        "exchanges": [row for rows in asked for row in rows["exchanges"]],
        "tokens": [row for rows in asked for row in rows["tokens"]],
        "observations": _observations(
            noun.observations, run_id=run.run_id, endpoint=run.endpoint, probe=run.probe, source="run",
            at=utc("run.started_at", run.started_at),
        ),
    }  # fmt: skip


def _slot(noun: Slot) -> Rows:
    row = {
        "endpoint": noun.endpoint, "probe": noun.probe, "slot_at": utc("slot_at", noun.slot_at), "state": noun.state,
        "reason": noun.reason, "run_id": noun.run_id, "vantage": noun.vantage,
    }  # fmt: skip
    return {"slots": [row]}


def _judged(noun: JudgedRun) -> Rows:
    at = utc("judged_at", noun.judged_at)
    record, arrays = split_judged(noun)
    row = {
        "run_id": noun.run_id, "endpoint": noun.endpoint, "judged_at": at,
        "fingerprint": noun.fingerprint.digest if noun.fingerprint else None, "record": record,
    }  # fmt: skip
    # Probe and time of the run itself are filled in by the store, which has the run.
    observations = _observations(
        noun.observations, run_id=noun.run_id, endpoint=noun.endpoint, probe=None, source="judged", at=at
    )
    return {"judged": [row], "observations": observations, "tokens": _tokens(noun, at, "golden", arrays)}


def _capture(noun: KeptCapture) -> Rows:
    row = {
        "exchange_id": noun.exchange_id, "run_id": noun.run_id, "endpoint": noun.endpoint, "at": utc("at", noun.at),
        "answered": noun.answered, "capture": noun.capture,
    }  # fmt: skip
    return {"captures": [row]}


def _verdict(noun: Verdict) -> Rows:
    row = {
        "verdict_id": noun.verdict_id, "endpoint": noun.endpoint, "detector": noun.detector,
        "detector_version": noun.detector_version, "at": utc("at", noun.at), "status": noun.status,
        "cause": noun.cause, "effect": finite(noun.effect), "unit": noun.unit, "low": finite(noun.low),
        "high": finite(noun.high), "n": noun.n, "fingerprint": noun.fingerprint, "record": _record(noun),
    }  # fmt: skip
    return {"verdicts": [row]}


def _incident(noun: Incident) -> Rows:
    check_zones(noun, "incident")
    row = {
        "incident_id": noun.incident_id, "endpoint": noun.endpoint, "detector": noun.detector, "cause": noun.cause,
        "opened_at": utc("opened_at", noun.opened_at), "last_at": utc("last_at", noun.last_at),
        "closed_at": maybe_utc("closed_at", noun.closed_at), "record": _record(noun),
    }  # fmt: skip
    return {"incidents": [row]}


_KINDS: Mapping[str, tuple[type[Any], Callable[[Any], Rows]]] = {
    "endpoint": (Endpoint, _endpoint), "run": (RunRecord, _run_record), "slot": (Slot, _slot),
    "judged": (JudgedRun, _judged), "verdict": (Verdict, _verdict), "incident": (Incident, _incident),
    "capture": (KeptCapture, _capture), **alerts.KINDS, **agents.KINDS,
}  # fmt: skip


def rejected(writer: str, entry: Entry, reason: str, run_id: str | None = None) -> Rows:
    """Rows that keep an entry which is not taken in, with why, and with its run when it is one that was understood.

    When it came is filled in by the next pass of `storage.upkeep`: ingest has no clock.
    """
    row = {
        "writer": writer, "seq": entry.seq, "kind": entry.kind, "reason": reason[:500],
        "data": entry.data.decode("utf-8", "backslashreplace"), "run_id": run_id, "at": None,
    }  # fmt: skip
    return {"rejected": [row]}


def project(writer: str, entry: Entry) -> Rows:
    """Return the rows of an entry, by table. What is no noun of ours becomes a row of ``rejected``."""
    if entry.kind not in _KINDS:
        return rejected(writer, entry, f"unknown kind {entry.kind!r}; known: {', '.join(_KINDS)}")
    noun, rows = _KINDS[entry.kind]
    try:
        return rows(decode(noun, entry.data))
    except (ValueError, TypeError, OverflowError) as error:  # TypeError: an integer beyond what JSON writers take
        return rejected(writer, entry, str(error))


def groups(projected: Iterable[Rows]) -> Iterator[Rows]:
    """Merge rows, in order, into as few groups as have no key twice.

    So "delete the old rows of these keys, then insert" is right for each group.
    """
    group: Rows = {}
    seen: set[tuple[str, str]] = set()
    for rows in projected:
        keys = {(table, row[REPLACED[table]]) for table, more in rows.items() if table in REPLACED for row in more}
        if keys & seen:
            yield group
            group, seen = {}, set()
        seen |= keys
        for table, more in rows.items():
            group.setdefault(table, []).extend(more)
    if group:
        yield group


def placed(observations: Sequence[Row], runs: Mapping[str, Row]) -> list[Row]:
    """Return observations with probe and time of their run: what the golden side added belongs to these."""
    return [
        {**row, "probe": runs[row["run_id"]]["probe"], "at": runs[row["run_id"]]["started_at"]}
        if row["source"] == "judged" and row["run_id"] in runs
        else row
        for row in observations
    ]


def counted(exchanges: Sequence[dict[str, Any]], golden: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return decoded exchanges with ``tokens_golden`` filled in by exchange id, where the judge counted them."""
    return [
        one | {"tokens_golden": golden[one["exchange_id"]]} if one["exchange_id"] in golden else one
        for one in exchanges
    ]
