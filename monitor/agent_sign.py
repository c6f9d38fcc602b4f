"""What an agent says of itself: where it is, which version, how its clock stands to the store's, what waits."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSign:
    """One sign of life of an agent.

    ``clock_offset_s`` is how far its clock is ahead of the store's, within ``clock_error_s``; None before the first
    answer of the store. ``waiting`` counts the records in its spool that the store had not confirmed.
    """

    vantage: str
    version: str
    at: datetime
    waiting: int
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
