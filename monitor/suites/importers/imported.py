"""What an importer makes of a text."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from monitor.errors import Problem, UsageError
from monitor.suites.case import Suite, SuiteCase
from monitor.suites.reading import named
from monitor.suites.rows import RowError, case_of


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that was not taken over: where it stands, and what it is in words that can be counted."""

    where: str
    what: str


@dataclass(slots=True, kw_only=True)
class Rows:
    """Rows as they are found, with their places, what was not supported, and how the file was understood."""

    rows: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    unsupported: list[Unsupported] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, where: str, row: Mapping[str, Any]) -> None:
        """Take a case over; one that has no oracle left tells nothing, and is listed instead."""
        if row.get("oracles"):
            self.rows.append((where, row))
        else:
            self.leave(where, "case without an oracle that is supported: not imported")

    def leave(self, where: str, what: str) -> None:
        """List something that is not taken over."""
        self.unsupported.append(Unsupported(where, what))


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A suite of our own, and all that is not in it."""

    suite: Suite
    unsupported: tuple[Unsupported, ...]
    notes: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How often each thing was not supported, the most frequent first."""
        return dict(Counter(one.what for one in self.unsupported).most_common())


class Importer(Protocol):
    """Reads one format."""

    kind: ClassVar[str]

    def recognises(self, text: str) -> bool:
        """Whether `text` looks like this format. Never raises."""
        ...

    def read(self, text: str, beside: str | None) -> Rows:
        """Read `text`; `beside` is a second file, where the format has two.

        Raises UsageError when it is not that format at all.
        """
        ...


def require_alone(kind: str, beside: str | None) -> None:
    """Raise UsageError when a second file comes with a format that has none."""
    if beside is not None:
        raise UsageError(f"--with: the format {kind} has no second file")


def finished(rows: Rows, name: str, defaults: Mapping[str, Any]) -> Imported:
    """Check each row like one of our own; a row that is none is listed with its first mistake."""
    cases: list[SuiteCase] = []
    left = list(rows.unsupported)
    seen: set[str] = set()
    for number, (where, row) in enumerate(rows.rows, start=1):
        mistakes: list[Problem] = []
        own = {**row, "id": _fresh(str(row.get("id", number)), seen)}
        try:
            cases.append(case_of(own, number, where, defaults, mistakes.append))
        except RowError:
            first = mistakes[0]
            key = first.path.removeprefix(where).lstrip(".")
            left.append(Unsupported(where, f"case that cannot be used: {key} {first.message}"))
    return Imported(suite=named(name, tuple(cases)), unsupported=tuple(left), notes=tuple(rows.notes))


def _fresh(name: str, seen: set[str]) -> str:
    """The id, with a number behind it where another case of the file has it."""
    found, number = name, 1
    while found in seen:
        number += 1
        found = f"{name}#{number}"
    seen.add(found)
    return found
