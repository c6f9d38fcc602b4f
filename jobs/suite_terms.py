"""What a run of a suite is asked to do, and what makes two runs the same run."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from jobs.suite_store import Record, SuiteStore
from monitor.suites.case import Suite, SuiteCase
from monitor.suites.families.catalogue import instances
from monitor.suites.outcome import Terms
from monitor.types import Endpoint

GOES_ON = timedelta(days=1)
"""For how long a run that was not finished can be gone on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a suite is run. ``repeats`` None is what each case says; ``parameters`` override those of all cases."""

    terms: Terms
    repeats: int | None = None
    parameters: Sequence[tuple[str, Any]] = ()
    fresh: bool = False
    dry: bool = False
    pin: bool = False
    allow_python: bool = False
    with_golden: bool = True
    junit: Path | None = None
    markdown: Path | None = None


def run_key(endpoint: Endpoint, suite: Suite, wanted: Wanted) -> str:
    """Return a hash of all that an answer depends on: endpoint, suite and parameters; an answer of another is not used.

    Prices, tags and the reference do not change answers.
    """
    said = {
        "name": endpoint.name, "base_url": endpoint.base_url, "model": endpoint.model, "protocol": endpoint.protocol,
        "dialect": endpoint.dialect, "upstream": endpoint.upstream, "suite": suite.sha256, "repeats": wanted.repeats,
        "parameters": dict(wanted.parameters),
    }  # fmt: skip
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def like_key(endpoint: Endpoint, suite: Suite, wanted: Wanted) -> str:
    """Return a hash of what two runs must share to be compared: an endpoint may have moved to another address since."""
    said = {
        "name": endpoint.name, "model": endpoint.model, "suite": suite.sha256, "repeats": wanted.repeats,
        "parameters": dict(wanted.parameters),
    }  # fmt: skip
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def begun(store: SuiteStore, endpoint: Endpoint, suite: Suite, wanted: Wanted, at: datetime) -> tuple[Record, bool]:
    """Return the record of a run, and whether it was begun before: the last of its key that was not finished.

    One that was begun longer ago than `GOES_ON` is let be: an endpoint of then may be another one now.
    """
    key = run_key(endpoint, suite, wanted)
    done = {one["run"] for one in store.of("done")}
    open_ = [
        one for one in store.of("run")
        if one["key"] == key and one["run"] not in done and at - datetime.fromisoformat(one["started_at"]) <= GOES_ON
    ]  # fmt: skip
    if open_ and not wanted.fresh:
        return open_[-1], True
    record: Record = {
        "kind": "run", "run": secrets.token_hex(8), "key": key, "endpoint": endpoint.name, "suite": suite.name,
        "sha256": suite.sha256, "started_at": at.isoformat(), "seed": secrets.randbits(63),
        "like": like_key(endpoint, suite, wanted),
    }  # fmt: skip
    return record, False


def cases_of(store: SuiteStore, suite: Suite, run: Record, wanted: Wanted) -> tuple[SuiteCase, ...]:
    """Return the cases of one run, in an order that follows from its seed: the same whenever it goes on."""
    fresh = instances(suite.generated, store.secret, run["run"])
    over = dict(wanted.parameters)
    cases = [
        replace(one, parameters={**one.parameters, **over}, repeats=wanted.repeats or one.repeats)
        for one in (*suite.cases, *fresh)
    ]
    order = {id(one): hashlib.sha256(f"{run['seed']} {at}".encode()).digest() for at, one in enumerate(cases)}
    return tuple(sorted(cases, key=lambda one: order[id(one)]))
