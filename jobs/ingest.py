"""``weighmaster ingest``: real traffic as runs of the kind ``traffic``, in numbers only, for the same detectors.

Content is dropped where it is read: no word of a question or an answer goes into a run, a spool or the store.
"""

import asyncio
import hashlib
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

import orjson

from jobs.ingest_lines import LINE_BYTES, lines_in
from jobs.ingest_send import send
from jobs.store_client import client_for
from jobs.version import version
from monitor.codec import encode
from monitor.config_types import Config
from monitor.errors import StoreError, UsageError
from monitor.ports import Spool
from monitor.results import Run, RunRecord
from monitor.shape import TRAFFIC
from monitor.shape_spans import from_spans
from monitor.shape_traffic import NoEventError, from_log
from monitor.types import Endpoint, Exchange
from monitor.wire.model_names import compare_models
from storage.spool import SqliteSpool

PER_RUN = 200
"""So many exchanges at most make one run: what is judged at once."""

TOLD_MISTAKES = 5
LONGEST_NAME = 80
_BAD = (TypeError, ValueError, ArithmeticError, AttributeError, KeyError, RecursionError)
"""What a line of a shape that nobody foresaw may raise. It is refused like any other, and the next one is read."""


@dataclass(slots=True)
class Tally:
    """What became of the events."""

    accepted: int = 0
    refused: int = 0
    other_model: int = 0
    known: int = 0
    runs: int = 0

    def words(self, *, keep: bool) -> str:
        """One line for people. It says what happened to the content."""
        content = "content kept, as asked" if keep else "content dropped: only numbers were kept"
        others = f", {self.other_model} of other models passed over" if self.other_model else ""
        known = f" ({self.known} more were taken before)" if self.known else ""
        taken = f"{self.accepted} answers taken in {self.runs} runs{known}"
        return f"{taken}, {self.refused} lines refused{others}; {content}"


def exchanges_of(lines: Iterable[bytes], tally: Tally, *, keep: bool, log: TextIO) -> Iterator[Exchange]:
    """Yield what the `lines` tell of: access-log lines, or one OTLP document each. Mistakes are counted and told."""
    n_read = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield from events_in(line, keep=keep)
        except NoEventError as error:
            tally.refused += 1
            if tally.refused <= TOLD_MISTAKES:
                log.write(f"line {number}: {error}\n")
            continue
        n_read += 1
    if tally.refused > TOLD_MISTAKES:
        log.write(f"and {tally.refused - TOLD_MISTAKES} more lines that were refused\n")
    if not n_read:
        nothing = "no line could be used" if tally.refused else "there is no line"
        log.write(f"{nothing}: give one answer a line, as a JSON object (`jq -c .` makes lines of a document)\n")


def events_in(line: bytes, *, keep: bool) -> list[Exchange]:
    """Return the exchanges in one line or document. Raises NoEventError when it holds none."""
    if len(line) > LINE_BYTES:
        raise NoEventError(f"longer than {LINE_BYTES} bytes")
    try:
        found = _read(line, keep=keep)
        for one in found:
            encode(one)  # what cannot be written must not wait among what can
    except NoEventError:
        raise
    except _BAD as error:
        raise NoEventError(f"cannot be read ({type(error).__name__})") from None
    return found


def _read(line: bytes, *, keep: bool) -> list[Exchange]:
    if b'"resourceSpans"' not in line:
        return [from_log(line, keep=keep)]
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise NoEventError("not JSON") from None
    if not isinstance(document, dict) or "resourceSpans" not in document:
        return [from_log(line, keep=keep)]  # a log whose words speak of spans
    found = list(from_spans(document, keep=keep))
    if not found:
        raise NoEventError("no span of a GenAI call")
    return found


def identified(exchanges: Sequence[Exchange], endpoint: Endpoint, *, name: str) -> list[Exchange]:
    """Return `exchanges` in the order of time, with ids that follow from the numbers.

    So the same answers have the same ids in a log that has grown. Of answers that are alike each has one of its own.
    """
    counts: Counter[bytes] = Counter()
    found = []
    for one in sorted(exchanges, key=lambda one: (str(one.started_at), encode(one))):
        numbers = encode(one)
        of_whom = f"{endpoint.name}\0{name}\0".encode()
        digest = hashlib.blake2b(of_whom + numbers, digest_size=10).hexdigest()
        found.append(replace(one, exchange_id=f"{digest}-{counts[numbers]}"))
        counts[numbers] += 1
    return found


def runs_of(exchanges: Sequence[Exchange], endpoint: Endpoint, *, name: str, vantage: str) -> list[RunRecord]:
    """Return the runs that `exchanges` make, oldest first: `PER_RUN` each, and none over two UTC days.

    Ids follow from the numbers, so that the same log taken in twice is the same runs.
    """
    return runs_from(identified(exchanges, endpoint, name=name), endpoint, name=name, vantage=vantage)


def runs_from(ordered: Sequence[Exchange], endpoint: Endpoint, *, name: str, vantage: str) -> list[RunRecord]:
    """Return the runs that exchanges with ids make, oldest first."""
    days = groupby(ordered, key=lambda one: str(one.started_at)[:10])
    return [
        _run(some[at : at + PER_RUN], endpoint, name=name, vantage=vantage)
        for some in (list(day) for _, day in days)
        for at in range(0, len(some), PER_RUN)
    ]


def _run(exchanges: Sequence[Exchange], endpoint: Endpoint, *, name: str, vantage: str) -> RunRecord:
    run_id = hashlib.blake2b(" ".join(one.exchange_id for one in exchanges).encode(), digest_size=10).hexdigest()
    started, finished = exchanges[0].started_at, exchanges[-1].started_at
    assert started is not None  # noqa: S101  # every reader of traffic wants a time
    assert finished is not None  # noqa: S101
    run = Run(
        run_id=run_id, endpoint=endpoint.name, provider=endpoint.provider, model=endpoint.model, reference=None,
        probe=TRAFFIC, probe_version=1, params_sha256=hashlib.sha256(name.encode()).hexdigest(), seed=0,
        vantage=vantage, prober_version=version(), started_at=started, finished_at=finished, n_exchanges=len(exchanges),
        n_answered=sum(one.answered for one in exchanges),
    )  # fmt: skip
    return RunRecord(run=run, exchanges=tuple(replace(one, run_id=run_id) for one in exchanges), observations=())


def of_model(exchange: Exchange, endpoint: Endpoint) -> bool:
    """Whether `exchange` is with the model of `endpoint`; one that names no model is taken to be."""
    return not exchange.models or compare_models(endpoint.model, exchange.models[0]) != "mismatch"


def endpoint_of(config: Config, name: str) -> Endpoint:
    """Return the endpoint of the file. Raises UsageError when there is none of this name."""
    known = {entry.endpoint.name: entry.endpoint for entry in config.endpoints}
    if name not in known:
        raise UsageError(f"--endpoint {name}: the configuration has {', '.join(sorted(known)) or 'no endpoints'}")
    return known[name]


def check_name(name: str) -> None:
    """Raise UsageError for a name that no table and no log could show."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise UsageError(f"--name: give 1 to {LONGEST_NAME} printable characters, such as shop")


def spool_of(config: Config) -> SqliteSpool:
    """Return the spool that traffic goes through on its way to the store."""
    return SqliteSpool(Path(config.agent.spool).with_name("traffic-spool.sqlite"), writer=f"traffic-{config.vantage}")


def run(
    config: Config, source: Path, store_url: str, *, endpoint: str, name: str, any_model: bool, keep: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Take a file (``-`` is standard input) in and send it to the store; 0 when anything was accepted, else 2.

    Raises
    ------
    UsageError
        When the name, the endpoint or the file cannot be used.
    StoreError
        When the store does not answer; what was read stays in the spool and goes with the next ingest of that name.
    """
    check_name(name)
    chosen, tally = endpoint_of(config, endpoint), Tally()
    found = list(exchanges_of(lines_in(source), tally, keep=keep, log=sys.stderr))
    mine = [one for one in found if any_model or of_model(one, chosen)]
    tally.other_model = len(found) - len(mine)

    def made(read: Sequence[Exchange], known: Collection[str]) -> list[RunRecord]:
        new = [one for one in read if one.exchange_id not in known]
        records = runs_from(new, chosen, name=name, vantage=config.vantage)
        tally.accepted, tally.known, tally.runs = len(new), len(read) - len(new), len(records)
        return records

    with closing(spool_of(config)) as spool:
        read = identified(mine, chosen, name=name)
        try:
            asyncio.run(send(client_for(config.store, store_url), spool, read, made, endpoint=endpoint, name=name))
        except StoreError as error:
            if mine:
                raise
            sys.stderr.write(f"{error}\n")  # what waits from before does; that this log holds nothing is the news
    if as_json:
        sys.stdout.write(orjson.dumps({**asdict(tally), "content_kept": keep}).decode() + "\n")
    else:
        sys.stdout.write(tally.words(keep=keep) + "\n")
    return 0 if mine else 2


def append(spool: Spool, records: Sequence[RunRecord], notes: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Put runs into the spool, with `notes`, all or none."""
    if records:
        spool.append([("run", encode(record)) for record in records], notes)
