"""What the read API needs of a store: idempotent ingest plus named reads that return plain JSON.

Every read returns dicts, lists, strings, numbers and None; instants are ISO strings in UTC ending in ``Z``.
`DuckStore` and `MemoryStore` both keep this contract (tests/storage/test_contract.py runs over both).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from monitor.ports import Entry
from storage.tally import Tally

Json = dict[str, Any]

TABLES = (
    "endpoints", "runs", "exchanges", "observations", "slots", "judged", "verdicts", "incidents", "tokens", "captures",
    "alert_tracks", "deliveries", "silences", "acks", "agents", "rejected",
)  # fmt: skip
"""Tables that hold records, as `counts` names them; ingest fills them in this order."""

LAST_RUN = ("endpoint", "started_at", "vantage", "lag_ms", "n_exchanges", "n_answered")
"""What `last_runs` tells of a run."""

MEASURED = ("value", "n", "k", "at", "reason")
"""What `overview` tells of a metric."""


class ReadStore(Protocol):
    """The database behind the service: idempotent ingest and named reads."""

    def ingest(self, writer: str, entries: Sequence[Entry]) -> int:
        """Apply entries above the writer's high-water mark in one transaction; return the new mark."""
        ...

    def mark(self, writer: str) -> int:
        """Highest sequence number applied for `writer`; 0 when it never wrote."""
        ...

    def knows(self, endpoint: str) -> bool:
        """Whether `endpoint` was ever declared or measured."""
        ...

    def overview(self) -> Json:
        """``{"endpoints": [...]}`` by name: declaration, last run, latest verdicts and metrics, open incidents."""
        ...

    def series(
        self, endpoint: str, metric: str, *, since: datetime | None, until: datetime | None, buckets: int
    ) -> Json:
        """``{"points": [{"at", "value", "low", "high", "n"}]}``: median, minimum, maximum and count per time bucket.

        ``at`` is the start of the bucket. A bucket in which runs could not measure has ``n`` 0 and null values; one
        without runs is absent. ``since <= t < until``; None means from the first or through the last run.
        """
        ...

    def verdicts(self, endpoint: str | None, detector: str | None, *, limit: int) -> Json:
        """``{"verdicts": [Verdict]}``, newest first."""
        ...

    def verdict(self, verdict_id: str) -> Json | None:
        """The Verdict, or None when there is none of this id."""
        ...

    def exchanges(self, endpoint: str, *, limit: int, outcome: str | None) -> Json:
        """``{"exchanges": [Exchange]}``, newest first; ``tokens_golden`` as the judge counted, where it did."""
        ...

    def capture(self, exchange_id: str) -> Json | None:
        """``{"exchange_id", "at", "capture", "reason"}``: the capture file of an exchange, as a document.

        Where it is not kept, ``capture`` is None and ``reason`` says so. None when there is no such exchange.
        """
        ...

    def trouble(self) -> str | None:
        """Why the last ingest failed; None when it worked, or there was none."""
        ...

    def incidents(self, endpoint: str | None, *, open_only: bool) -> Json:
        """``{"incidents": [Incident]}``: the latest state of each, last opened first."""
        ...

    def slots(self, endpoint: str | None, *, since: datetime | None, limit: int) -> Json:
        """``{"slots": [Slot]}``, newest first."""
        ...

    def runs(self, endpoint: str, probe: str | None, *, limit: int) -> Json:
        """``{"records": [RunRecord], "judged": [JudgedRun]}``: newest first, and what the golden side said of them.

        A record's observations are those that the probe made; the golden side's are in its JudgedRun.
        """
        ...

    def unjudged(self, *, limit: int) -> Json:
        """``{"records": [RunRecord]}`` without a judged row, oldest first."""
        ...

    def counts(self) -> dict[str, int]:
        """Rows per table."""
        ...

    def coverage(self, since: datetime | None) -> Json:
        """``{"slots": [...], "spent": [...]}`` since an instant, None is ever.

        ``slots`` count by endpoint, probe, state and the first words of the reason: ``n`` and ``last_at``. ``spent``
        are ``tokens_in`` and ``tokens_out`` of probes by endpoint as endpoints counted them, real traffic left out;
        ``n_uncounted`` answers did not.
        """
        ...

    def last_slots(self, vantage: str | None = None) -> Json:
        """``{"slots": [{"endpoint", "probe", "slot_at"}]}``: the latest slot of each endpoint and probe.

        Of one vantage, and of agents that did not say theirs; None is all.
        """
        ...

    def last_runs(self) -> Json:
        """``{"runs": [{"endpoint", "started_at", "vantage", "lag_ms", "n_exchanges", "n_answered"}]}``: the newest."""
        ...

    def sizes(self) -> dict[str, int]:
        """Bytes on the disk: ``database``, ``log``, ``evidence``, and ``free``; empty for a store in memory."""
        ...

    @property
    def tally(self) -> Tally:
        """What this process has taken in."""
        ...
