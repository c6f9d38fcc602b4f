"""Times of the day and week in a time zone, as cron writes them: ``0 9 * * mon-fri``.

Five fields: minute, hour, day of month, month, weekday. Pure and small, because cron dialects differ exactly where it
hurts, and what differs is refused: numbers for weekdays (0, 1 and 7 name different days in different tools;
APScheduler's ``from_crontab`` takes 0 for Monday), and a day of month together with a weekday (either, or both?).

A local time that does not exist (the clock went forward over it) is moved to the next instant that does; one that
exists twice (the clock went back) counts once, the first time. APScheduler fires both in autumn. Case OP-05.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from monitor.cron_fields import CronError, parse_fields

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_HORIZON_DAYS = 366 * 9
"""29 February can be eight years away (1896 to 1904, 2096 to 2104)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A parsed expression. ``weekdays`` count from Monday = 0, as `datetime.date.weekday`."""

    text: str
    timezone: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def __str__(self) -> str:
        return self.text if self.timezone == "UTC" else f"{self.text} {self.timezone}"

    def on(self, day: date) -> bool:
        """Whether anything happens on this local day."""
        return day.month in self.months and day.day in self.days and day.weekday() in self.weekdays


def parse_cron(text: str, timezone: str = "UTC") -> Cron:
    """Return the expression `text` in the time zone `timezone` (a name of the IANA database).

    Raises
    ------
    CronError
        When it is none, when tools disagree about what it means, or when no day ever fits it.
    """
    check_timezone(timezone)
    minutes, hours, days, months, weekdays = parse_fields(text)
    cron = Cron(
        text=" ".join(text.split()), timezone=timezone, minutes=tuple(sorted(minutes)), hours=tuple(sorted(hours)),
        days=frozenset(days), months=frozenset(months), weekdays=frozenset(weekdays),
    )  # fmt: skip
    if not days_per_year(cron):
        raise CronError("never happens", "no month of those named has such a day")
    return cron


def check_timezone(name: str) -> None:
    """Refuse what is no name of a time zone.

    Raises
    ------
    CronError
        With the nearest name.
    """
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):  # what it raises for odd names depends on what lies in the database
        near = [zone for zone in sorted(available_timezones()) if name and name.casefold() in zone.casefold()]
        hint = f"did you mean {near[0]}?" if near else "a name of the IANA database, such as Europe/Berlin or UTC"
        raise CronError("is not a time zone", hint) from None


def cron_between(cron: Cron, after: datetime, until: datetime) -> list[datetime]:
    """Return the instants later than `after`, up to and including `until`, in UTC, oldest first, each once."""
    zone = ZoneInfo(cron.timezone)
    first = after.astimezone(zone).date() - _DAY
    last = until.astimezone(zone).date() + _DAY
    days = (first + n * _DAY for n in range((last - first).days + 1))
    return sorted({at for day in days if cron.on(day) for at in _on_day(cron, day) if after < at <= until})


def cron_next(cron: Cron, after: datetime) -> datetime:
    """Return the first instant later than `after`, in UTC."""
    zone = ZoneInfo(cron.timezone)
    # The day before too: what the clock skipped there may have moved to this day.
    start = after.astimezone(zone).date() - _DAY
    days = (start + n * _DAY for n in range(_HORIZON_DAYS))
    return next(at for day in days if cron.on(day) for at in _on_day(cron, day) if at > after)


@lru_cache(maxsize=1024)
def days_per_year(cron: Cron) -> float:
    """Return how many days of a year have at least one time, on average over four years."""
    first = date(2024, 1, 1)
    return sum(cron.on(first + n * _DAY) for n in range(1461)) / 1461 * 365.25


@lru_cache(maxsize=4096)
def _on_day(cron: Cron, day: date) -> tuple[datetime, ...]:
    """Return the instants of a local day that fits, oldest first. Many endpoints share them."""
    zone = ZoneInfo(cron.timezone)
    clock = (time(hour, minute) for hour in cron.hours for minute in cron.minutes)
    return tuple(sorted({_instant(datetime.combine(day, one), zone) for one in clock}))


def _instant(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant of a local time: the first of two; of none, the instant at which the clock went forward."""
    at = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) == local:
        return at
    # fold=0 reads it with the offset from before the gap, and so lands behind it; fold=1 the other way round.
    low, high = local.replace(tzinfo=zone, fold=1).astimezone(UTC), at
    before = low.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = low + (high - low) // 2 // _SECOND * _SECOND
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
