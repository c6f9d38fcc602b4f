"""A regular expression is found in the answer, or is not.

The syntax is that of the regex crate of Rust (no look-around, no back references, a small z for the end): it takes
time linear in the answer, whatever the answer is.
"""

from dataclasses import dataclass
from typing import ClassVar

from monitor.suites import linear
from monitor.suites.grade import RIGHT, Grade, Seen, wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """`(?i)` ignores case, `(?s)` lets a dot stand for a line break too."""

    kind: ClassVar[str] = "regex"

    pattern: str
    """What to look for, anywhere in the answer."""
    absent: bool = False
    """Whether it must not be found."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        return linear.problem(self.pattern)

    def grade(self, seen: Seen) -> Grade:
        """Look for the pattern."""
        if linear.matches(self.pattern, seen.text) != self.absent:
            return RIGHT
        return wrong("pattern_found" if self.absent else "pattern_missing")


ORACLE = Regex
