"""The five fields of a cron expression, and what is refused because tools disagree about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_EXAMPLE = 'five fields: minute, hour, day of month, month, weekday, such as "0 9 * * mon-fri"'
_ITEM = re.compile(r"(?P<low>\*|[a-z0-9]+)(?:-(?P<high>[a-z0-9]+))?(?:/(?P<step>[0-9]{1,2}))?")


class CronError(ValueError):
    """An expression that cannot be used: ``message`` is what is wrong, ``suggestion`` what to write instead."""

    def __init__(self, message: str, suggestion: str) -> None:
        self.message, self.suggestion = message, suggestion
        super().__init__(f"{message} ({suggestion})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    name: str
    low: int
    high: int
    names: Mapping[str, int]


_FIELDS = (
    _Field(name="minute", low=0, high=59, names={}),
    _Field(name="hour", low=0, high=23, names={}),
    _Field(name="day of month", low=1, high=31, names={}),
    _Field(name="month", low=1, high=12, names={name: n for n, name in enumerate(MONTHS, 1)}),
    _Field(name="weekday", low=0, high=6, names={name: n for n, name in enumerate(WEEKDAYS)}),
)


def parse_fields(text: str) -> tuple[set[int], ...]:
    """Return the values of the five fields; weekdays count from Monday = 0.

    Raises
    ------
    CronError
        With what to write instead.
    """
    words = text.casefold().split()
    if len(words) != 5:
        raise CronError("is not a cron expression", _EXAMPLE)
    if re.search(r"[0-9]", words[4]):
        names = "write names: mon, tue, wed, thu, fri, sat, sun"
        raise CronError("has a number for a weekday, and 0, 1 and 7 are different days in different tools", names)
    if words[2] != "*" and words[4] != "*":
        both = "keep one of them and write * for the other"
        raise CronError("names a day of the month and a weekday, and tools disagree whether one must fit or both", both)
    return tuple(_values(field, word) for field, word in zip(_FIELDS, words, strict=True))


def _values(field: _Field, word: str) -> set[int]:
    found: set[int] = set()
    for item in word.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise CronError(f"has a {field.name} that cannot be read", _EXAMPLE)
        found |= _span(field, match["low"], match["high"], match["step"])
    return found


def _span(field: _Field, low: str, high: str | None, step: str | None) -> set[int]:
    if low == "*" and high is not None:
        raise CronError(f"has a {field.name} that cannot be read", _EXAMPLE)
    if step is not None and (int(step) < 1 or (low != "*" and high is None)):
        remedy = "a step follows * or a range: */15, 8-18/2"
        raise CronError(f"has a step in its {field.name} that cannot be read", remedy)
    first = field.low if low == "*" else _value(field, low)
    last = field.high if low == "*" else first if high is None else _value(field, high)
    if last < first and field.name == "weekday":
        last += 7
    if last < first:
        two = f"write two: {first}-{field.high},{field.low}-{last}"
        raise CronError(f"has a range in its {field.name} that runs backwards", two)
    return {n % 7 if field.name == "weekday" else n for n in range(first, last + 1, int(step or 1))}


def _value(field: _Field, word: str) -> int:
    number = field.names.get(word)
    if number is None and word.isdecimal() and field.name != "weekday":
        number = int(word)
    if number is None or not field.low <= number <= field.high:
        known = ", ".join(field.names) or f"{field.low} to {field.high}"
        raise CronError(f"has a {field.name} that does not exist", f"known: {known}")
    return number
