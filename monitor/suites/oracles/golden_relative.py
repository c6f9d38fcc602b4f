"""The answer is no worse than golden's own answers to the same case.

With `target` an answer is worth its overlap with that text: the F1 of words. It must be worth as much as golden's
answers are on average, less `margin`. Without it the answer must be one of golden's, word by word.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from monitor.suites.grade import RIGHT, Grade, Seen, untold, wrong

_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRelative:
    """Needs a golden engine; without one such cases are not graded."""

    kind: ClassVar[str] = "golden_relative"

    target: str | None = None
    """What a good answer says; none: what golden says."""
    margin: float = 0.1
    """How much less than golden's mean F1 is as good; only with `target`."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        if not 0 <= self.margin < 1:
            return "`margin` must be at least 0 and below 1"
        return None if self.target is None or _WORDS.search(self.target) else "`target` holds no word"

    def grade(self, seen: Seen) -> Grade:
        """Compare with golden."""
        if not seen.golden:
            return untold("no_golden")
        if self.target is None:
            own = [_WORDS.findall(text.casefold()) for text in seen.golden]
            return RIGHT if _WORDS.findall(seen.text.casefold()) in own else wrong("not_goldens")
        target = self.target
        needed = sum(overlap(text, target) for text in seen.golden) / len(seen.golden) - self.margin
        return RIGHT if overlap(seen.text, target) >= needed else wrong("worse_than_golden")


def overlap(text: str, target: str) -> float:
    """F1 of the words of `text` against those of `target`, as sets with counts: 0 to 1."""
    said, wanted = (Counter(_WORDS.findall(one.casefold())) for one in (text, target))
    shared = (said & wanted).total()
    return 2 * shared / (said.total() + wanted.total()) if shared else 0.0


ORACLE = GoldenRelative
