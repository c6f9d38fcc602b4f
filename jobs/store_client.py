"""The store as its writers and readers see it: pushes a spool, reads typed nouns."""

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import httpx
import orjson

from jobs.clock import SystemClock
from jobs.trust import trusting
from monitor.codec import decode
from monitor.config_store import StoreConfig
from monitor.errors import StoreError
from monitor.incident import Incident
from monitor.ports import Clock, Entry, Spool
from monitor.results import JudgedRun, RunRecord, Verdict

T = TypeVar("T")

_COPY_S = 900.0
WORK_S = 60.0
SOON_S = 10.0
"""How long the store may be silent: for processes and long questions, and where a person waits for a short one."""
BATCH_BYTES = 8 * 2**20
"""A batch is cut at about this size, so that neither side holds much at once; one record may be larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    records: tuple[RunRecord, ...]
    judged: tuple[JudgedRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdicts:
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Incidents:
    incidents: tuple[Incident, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastSlot:
    endpoint: str
    probe: str
    slot_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastSlots:
    slots: tuple[_LastSlot, ...]


class _TooLargeError(Exception):
    """The store refused a body for its size."""


def _cut(entries: Sequence[Entry]) -> list[Entry]:
    """Return the first entries that together stay under `BATCH_BYTES`, at least one."""
    size = 0
    for index, entry in enumerate(entries):
        size += len(entry.data)
        if index and size > BATCH_BYTES:
            return list(entries[:index])
    return list(entries)


def client_for(store: StoreConfig, url: str, *, answer_s: float = WORK_S) -> "StoreClient":
    """Return the client of the store at `url` that shows the token of a configuration and trusts whom it trusts."""
    return StoreClient(url, token=store.bearer, ca=store.tls_ca, answer_s=answer_s)


class StoreClient:
    """Talks to the store's HTTP API. Every failure is a `StoreError` that names the address.

    Parameters
    ----------
    url
        Base address, such as ``http://127.0.0.1:8600``.
    token
        The store's bearer token, if it wants one.
    ca
        PEM file with the roots that vouch for an HTTPS store; None: those of the system. Raises UsageError when it
        cannot be read.
    transport
        Replaces the network in tests.
    clock
        Of this machine; None is the system's.
    answer_s
        How long the store may be silent.

    Attributes
    ----------
    offset
        How far our clock is ahead of the store's, and the bound on the error of that, in seconds, by the last answer
        to a push; None before.
    """

    def __init__(
        self, url: str, *, token: str | None = None, ca: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None, clock: Clock | None = None, answer_s: float = WORK_S,
    ) -> None:  # fmt: skip
        logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it logs every address it asks
        self._url = url.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=self._url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx.Timeout(answer_s, connect=5),
            transport=transport,
            trust_env=False,
            follow_redirects=False,
            verify=trusting(ca),
        )
        self._now = (clock or SystemClock()).now
        self.offset: tuple[float, float] | None = None

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._http.aclose()

    async def push(self, spool: Spool, limit: int = 200) -> int:
        """Send all that `spool` holds, oldest first, and confirm what the store has.

        Parameters
        ----------
        spool
            Read and confirmed in a thread, so that disk waits do not stop the event loop.
        limit
            Most records per request; halved for the rest of this push when the store finds a body too large.

        Returns
        -------
        int
            Records confirmed.

        Raises
        ------
        StoreError
            When the store cannot be reached or refuses. What was not confirmed stays in the spool, and sending it
            again is safe: the store drops what it already has.
        """
        pushed = 0
        while entries := _cut(await asyncio.to_thread(spool.pending, limit)):
            try:
                mark = await self._ingest(spool.writer, entries)
            except _TooLargeError:
                if len(entries) == 1:
                    raise StoreError(
                        f"{self._url}: record {entries[0].seq} ({entries[0].kind}, {len(entries[0].data)} bytes) is "
                        "larger than the store takes; it stays in the spool"
                    ) from None
                limit = len(entries) // 2
                continue
            if mark < entries[-1].seq:
                raise StoreError(f"{self._url}: took records up to {entries[-1].seq} but confirmed only {mark}")
            await asyncio.to_thread(spool.confirm, entries[-1].seq)
            pushed += len(entries)
        return pushed

    async def _ingest(self, writer: str, entries: Sequence[Entry]) -> int:
        body = orjson.dumps(
            {
                "writer": writer,
                "entries": [{"seq": e.seq, "kind": e.kind, "data": orjson.Fragment(e.data)} for e in entries],
            }
        )
        before = self._now()
        reply = await self._reply("POST", "ingest", content=body, headers={"Content-Type": "application/json"})
        self._compare_clocks(reply.headers.get("weighmaster-clock", ""), before, self._now())
        mark = self._object(reply.content).get("mark")
        if type(mark) is not int:
            raise StoreError(f"{self._url}/api/ingest answered without a mark: is this a Weighmaster store?")
        return mark

    def _compare_clocks(self, theirs: str, before: datetime, after: datetime) -> None:
        """Note how far our clock is ahead; the store read its own at some time between ours."""
        try:
            at = datetime.fromisoformat(theirs)
            half = (after - before) / 2
            self.offset = (before + half - at).total_seconds(), abs(half.total_seconds())
        except (ValueError, TypeError):  # an older store does not say
            self.offset = None

    async def _ask(self, method: str, path: str, **what: Any) -> bytes:
        return (await self._reply(method, path, **what)).content

    async def _reply(self, method: str, path: str, **what: Any) -> httpx.Response:
        try:
            reply = await self._http.request(method, f"/api/{path}", **what)
        except httpx.ReadTimeout as error:
            silent_s = error.request.extensions["timeout"]["read"]
            remedy = "is its process stopped, or overloaded? its log may say; `weighmaster doctor` looks"
            raise StoreError(f"{self._url}/api/{path} gave no answer within {silent_s:g} s: {remedy}") from None
        except httpx.HTTPError as error:
            what_failed = f"{type(error).__name__}: {error}"
            raise StoreError(f"{self._url} cannot be reached ({what_failed}): is the store running?") from None
        if reply.status_code == 413:
            raise _TooLargeError
        if reply.status_code != 200:
            raise StoreError(f"{self._url}/api/{path} answered {reply.status_code}: {_reason(reply)}")
        return reply

    def _object(self, reply: bytes) -> dict[str, Any]:
        try:
            given = orjson.loads(reply)
        except orjson.JSONDecodeError:
            given = None
        if not isinstance(given, dict):
            raise StoreError(f"{self._url} answered something else than a JSON object: is this a Weighmaster store?")
        return given

    async def _read(self, kind: type[T], path: str, **query: str | int | None) -> T:
        reply = await self._ask("GET", path, params={k: v for k, v in query.items() if v is not None})
        try:
            return decode(kind, reply)
        except ValueError as error:
            remedy = "use one version of agent, store and judge"
            raise StoreError(f"{self._url}/api/{path}: {error}; {remedy}") from None

    async def tell(self, kind: str, data: bytes) -> None:
        """Hand over one record of a person at a terminal, under a writer's name of its own. Raises StoreError."""
        await self._ingest(f"terminal-{secrets.token_hex(8)}", [Entry(1, kind, data)])

    async def read(self, kind: type[T], path: str, **query: str | int | None) -> T:
        """Return what one named read answers, as `kind`. Raises StoreError."""
        return await self._read(kind, path, **query)

    async def health(self) -> Mapping[str, Any]:
        """What the store says of itself; ``{"status": "ok"}`` when it works."""
        return self._object(await self._ask("GET", "health"))

    async def overview(self) -> dict[str, Any]:
        """Return the newest verdicts, incidents and metrics of every endpoint, as JSON."""
        return self._object(await self._ask("GET", "overview"))

    async def snapshot(self, *, passing: bool = False) -> str:
        """Have the store take a snapshot; return its folder, as the store's machine names it.

        One that is `passing` is removed by the store after a day.
        """
        body = orjson.dumps({"passing": True} if passing else {})
        reply = await self._ask(
            "POST", "snapshot", content=body, headers={"Content-Type": "application/json"}, timeout=_COPY_S
        )
        return str(self._object(reply)["folder"])

    async def capture(self, exchange_id: str) -> dict[str, Any]:
        """The capture of an exchange: ``capture`` is None where it is not kept, and ``reason`` says so."""
        return self._object(await self._ask("GET", "capture", params={"id": exchange_id}))

    async def mark(self, writer: str) -> int:
        """Highest sequence number that the store has of `writer`."""
        return int(self._object(await self._ask("GET", "mark", params={"writer": writer}))["mark"])

    async def unjudged(self, limit: int = 20) -> list[RunRecord]:
        """Runs that nobody judged yet, oldest first (at most 200)."""
        return list((await self._read(_Records, "unjudged", limit=limit)).records)

    async def runs(
        self, endpoint: str, probe: str | None = None, limit: int = 20
    ) -> tuple[list[RunRecord], list[JudgedRun]]:
        """Runs of an endpoint, newest first (at most 200), and what the golden side said of them."""
        found = await self._read(_Records, "runs", endpoint=endpoint, probe=probe, limit=limit)
        return list(found.records), list(found.judged)

    async def open_incidents(self, endpoint: str | None = None) -> list[Incident]:
        """Incidents that are not closed, last opened first."""
        return list((await self._read(_Incidents, "incidents", endpoint=endpoint, open_only="true")).incidents)

    async def verdicts(
        self, endpoint: str | None = None, detector: str | None = None, limit: int = 100
    ) -> list[Verdict]:
        """Verdicts, newest first (at most 1000)."""
        found = await self._read(_Verdicts, "verdicts", endpoint=endpoint, detector=detector, limit=limit)
        return list(found.verdicts)

    async def coverage(self, since: datetime) -> dict[str, Any]:
        """What became of the slots since then, and what was spent, as JSON."""
        return self._object(await self._ask("GET", "coverage", params={"since": since.isoformat()}))

    async def last_slots(self, vantage: str | None = None) -> dict[tuple[str, str], datetime]:
        """The latest slot of each (endpoint, probe), of one vantage or of all."""
        found = await self._read(_LastSlots, "last-slots", vantage=vantage)
        return {(slot.endpoint, slot.probe): slot.slot_at for slot in found.slots}


def _reason(reply: httpx.Response) -> str:
    try:
        return str(orjson.loads(reply.content)["error"])[:500]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return reply.reason_phrase or "no reason given"
