"""The answer holds some texts and not others."""

from dataclasses import dataclass
from typing import ClassVar

from monitor.suites.grade import RIGHT, Grade, Seen, wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """At least one of the three lists must be there."""

    kind: ClassVar[str] = "contains"

    all: tuple[str, ...] = ()
    """Texts that must all be there."""
    any: tuple[str, ...] = ()
    """Texts of which one must be there."""
    none: tuple[str, ...] = ()
    """Texts that must not be there."""
    ignore_case: bool = False
    """Whether capitals are like small letters."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        named = (*self.all, *self.any, *self.none)
        return None if named and all(named) else "name texts that are not empty under `all`, `any` or `none`"

    def grade(self, seen: Seen) -> Grade:
        """Look for the texts."""
        text = self._plain(seen.text)
        if not all(self._plain(one) in text for one in self.all):
            return wrong("text_missing")
        if self.any and not any(self._plain(one) in text for one in self.any):
            return wrong("text_missing")
        return wrong("text_unwanted") if any(self._plain(one) in text for one in self.none) else RIGHT

    def _plain(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text


ORACLE = Contains
