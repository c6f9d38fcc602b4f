"""The whole answer is one of some texts."""

from dataclasses import dataclass
from typing import ClassVar

from monitor.suites.grade import RIGHT, Grade, Seen, wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """Blanks around the answer do not count."""

    kind: ClassVar[str] = "exact"

    value: str | tuple[str, ...]
    """The right answer, or all of them."""
    ignore_case: bool = False
    """Whether capitals are like small letters."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        return None if self.value else "`value` names no answer"

    def grade(self, seen: Seen) -> Grade:
        """Compare the whole answer."""
        values = (self.value,) if isinstance(self.value, str) else self.value
        return RIGHT if self._plain(seen.text) in map(self._plain, values) else wrong("other_text")

    def _plain(self, text: str) -> str:
        return text.strip().casefold() if self.ignore_case else text.strip()


ORACLE = Exact
