"""Instants as they come in: with a zone, and in years that a clock that is set can show."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

FIRST_YEAR, LAST_YEAR = 1970, 2099
"""Reads look around an instant, up to a century back: beyond these years no calendar goes, or history is hidden."""


def zoned(name: str, at: datetime) -> datetime:
    """Return an instant in UTC. Raises ValueError when it has no zone, OverflowError at the ends of time."""
    if at.tzinfo is None:
        raise ValueError(f"{name}: {at.isoformat()} has no time zone")
    return at.astimezone(UTC)


def utc(name: str, at: datetime) -> datetime:
    """Return an instant in UTC that something happened at. Raises ValueError when no clock that is set shows it."""
    found = zoned(name, at)
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise ValueError(
            f"{name}: {found.isoformat()} is not within {FIRST_YEAR} to {LAST_YEAR}: set the clock of the machine"
        )
    return found


def maybe_utc(name: str, at: datetime | None) -> datetime | None:
    """`utc` of an instant that may be missing."""
    return None if at is None else utc(name, at)


def check_zones(value: Any, place: str) -> None:
    """Look at every instant in a noun. Raises ValueError when one has no zone: whoever compares it would fail."""
    if isinstance(value, datetime):
        zoned(place, value)
    elif is_dataclass(value):
        for field in fields(value):
            check_zones(getattr(value, field.name), f"{place}.{field.name}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            check_zones(one, f"{place}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for number, one in enumerate(value):
            check_zones(one, f"{place}.{number}")
