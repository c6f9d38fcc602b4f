"""Values of the configuration file that say when: cadences, cron, time zones, instants; and addresses to try."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from monitor.cadence import Intervals, Stage
from monitor.config_fields import Address, mistake, parse_address, parse_duration
from monitor.cron import check_timezone, parse_cron
from monitor.cron_fields import CronError

_YEARS = range(2000, 2101)
_STAGES = "write 1h, or stages such as 1h for 14d then 1d"


def parse_every(value: Any) -> Intervals:
    """Return the cadence of ``1h``, or of ``1h for 14d then 1d``, whose ``since`` is still unknown.

    Raises
    ------
    PydanticCustomError
        When a duration cannot be read, a stage but the last has no end, or the last one has.
    """
    if not isinstance(value, str) or not re.search(r"\b(for|then)\b", value):
        return Intervals(stages=(Stage(every_s=parse_duration(value)),))
    stages = tuple(_stage(text) for text in value.split(" then "))
    if any(stage.lasts_s is None for stage in stages[:-1]) or stages[-1].lasts_s is not None or len(stages) < 2:
        raise mistake("is not a cadence: each stage but the last says for how long, and the last does not", _STAGES)
    return Intervals(stages=stages)


def _stage(text: str) -> Stage:
    parts = [part.strip() for part in text.split(" for ")]
    if len(parts) > 2 or any(" " in part for part in parts):
        raise mistake("is not a cadence", _STAGES)
    every_s, *lasts = (parse_duration(part) for part in parts)
    return Stage(every_s=every_s, lasts_s=lasts[0] if lasts else None)


def parse_instant(value: Any) -> datetime:
    """Return the instant of ``2026-12-01`` (midnight in UTC) or ``2026-12-01T02:00:00+01:00``.

    Raises
    ------
    PydanticCustomError
        When it is neither, a time without an offset, or of another century.
    """
    text = value.strip() if isinstance(value, str) else ""
    try:
        at = datetime.fromisoformat(text if len(text) != len("2026-12-01") else f"{text}T00:00:00Z")
    except ValueError:
        raise mistake("is not a date or time", "write 2026-12-01 or 2026-12-01T02:00:00Z") from None
    if at.year not in _YEARS:
        raise mistake("is too long ago or too far away", f"between {_YEARS[0]} and {_YEARS[-1]}")
    if at.tzinfo is None:
        raise mistake("is a time without an offset from UTC", "add Z for UTC, or an offset such as +01:00")
    return at.astimezone(UTC)


def _cron(value: str) -> str:
    try:
        return parse_cron(value).text
    except CronError as error:
        raise mistake(error.message, error.suggestion) from None


def _zone(value: str) -> str:
    try:
        check_timezone(value)
    except CronError as error:
        raise mistake(error.message, error.suggestion) from None
    return value


def _reachable(value: Any) -> Address:
    address = value if isinstance(value, Address) else parse_address(value)
    if address.port == 0:
        raise mistake("has the port 0, to which nobody can connect", "such as 1.1.1.1:443")
    return address


Every = Annotated[
    Intervals,
    BeforeValidator(lambda value: value if isinstance(value, Intervals) else parse_every(value)),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]+)?[smhd]( for [0-9]+(\.[0-9]+)?[smhd] then [0-9]+(\.[0-9]+)?[smhd])*$",
            "examples": ["10m", "1h", "1h for 14d then 1d"],
        }
    ),
]
"""An interval, or stages of them."""

CronText = Annotated[str, AfterValidator(_cron)]
"""Minute, hour, day of month, month, weekday (by name)."""

Zone = Annotated[str, AfterValidator(_zone)]
"""A time zone by its name."""

Instant = Annotated[
    datetime,
    BeforeValidator(lambda value: value if isinstance(value, datetime) else parse_instant(value)),
    WithJsonSchema({"type": "string", "examples": ["2026-12-01", "2026-12-01T02:00:00Z"]}),
]
"""A date (midnight in UTC) or a time with its offset."""

Target = Annotated[
    Address, BeforeValidator(_reachable), WithJsonSchema({"type": "string", "examples": ["1.1.1.1:443"]})
]
"""host:port to connect to."""
