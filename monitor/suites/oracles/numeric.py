"""A number in the answer is near a value."""

import math
import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from monitor.suites.grade import RIGHT, Grade, Seen, wrong

_NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d++)?+(?:[eE][-+]?\d{1,3})?+(?!\w)")
_MAX_CHARS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric:
    """Numbers are written plainly: 1,234.5 or -3e8; a sign before the digits belongs to them."""

    kind: ClassVar[str] = "numeric"

    value: float
    """The right number."""
    tolerance: float = 0.0
    """How far off it may be."""
    relative: float = 0.0
    """The same as a share of the value; the larger of both holds."""
    pick: Literal["last", "first", "only"] = "last"
    """Which number of the answer counts; only: there must be no other."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        if not all(map(math.isfinite, (self.value, self.tolerance, self.relative))):
            return "`value`, `tolerance` and `relative` must be finite"
        return None if min(self.tolerance, self.relative) >= 0 else "`tolerance` and `relative` must not be negative"

    def grade(self, seen: Seen) -> Grade:
        """Compare the number that counts."""
        found = [_read(text) for text in _NUMBER.findall(seen.text[:_MAX_CHARS])]
        if not found:
            return wrong("no_number")
        if self.pick == "only" and len(found) > 1:
            return wrong("several_numbers")
        chosen = found[0 if self.pick == "first" else -1]
        allowed = max(self.tolerance, self.relative * abs(self.value))
        return RIGHT if abs(chosen - self.value) <= allowed else wrong("wrong_number")


def _read(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))


ORACLE = Numeric
