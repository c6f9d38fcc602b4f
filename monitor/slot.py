"""A scheduled instant and what became of it (docs/schedule.md)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

SlotState = Literal["done", "skipped", "missed", "overlapped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A scheduled instant. Every slot gets a row, whether or not anything ran.

    One row per vantage, endpoint, probe and instant. ``reason`` begins with a word or two that are always the same,
    then a colon (docs/schedule.md).
    """

    endpoint: str
    probe: str
    slot_at: datetime
    state: SlotState
    reason: str | None = None
    run_id: str | None = None
    vantage: str | None = None
