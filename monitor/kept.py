"""The captures that travel to the store: which of them, and in what form."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from monitor.codec import encode
from monitor.results import RunRecord
from monitor.types import Capture
from monitor.wire.capture_file import dump

LARGEST = 4 * 2**20
"""Bytes of the longest capture file that is sent to the store; a longer one is not kept there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCapture:
    """The capture behind one exchange. ``capture`` is a capture file (`monitor.wire.capture_file.dump`) as text.

    ``at`` is when the exchange began; ``answered`` whether a complete answer came back: what failed is kept longer.
    """

    exchange_id: str
    run_id: str
    endpoint: str
    at: datetime
    answered: bool
    capture: str


def kept_captures(
    record: RunRecord, captures: Sequence[Capture], *, answered: bool = True, failed: bool = True
) -> Iterator[tuple[str, bytes]]:
    """Return (kind, data) records for a spool: the captures of a run, in the order of its exchanges.

    Captures beyond `LARGEST` are left out, and those with an answer, or without one, unless they are asked for.
    """
    for exchange, capture in zip(record.exchanges, captures, strict=True):
        if not (answered if exchange.answered else failed):
            continue
        text = dump(capture)
        if len(text) <= LARGEST:
            yield "capture", encode(
                KeptCapture(
                    exchange_id=exchange.exchange_id, run_id=record.run.run_id, endpoint=record.run.endpoint,
                    at=exchange.started_at or record.run.started_at, answered=exchange.answered, capture=text.decode(),
                )
            )  # fmt: skip
