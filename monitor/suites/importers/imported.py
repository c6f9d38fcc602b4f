"""What an importer makes of a text."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from monitor.errors import Problem, UsageError
from monitor.suites.case import Suite, SuiteCase
from monitor.suites.importers.texts import UnfitError
from monitor.suites.reading import MAX_CASES, MAX_DEPTH, named, too_deep
from monitor.suites.rows import RowError, case_of

T = TypeVar("T")
_ODD = "row that does not have the shape of this format"
_FAULTS = (TypeError, ValueError, LookupError, AttributeError, RecursionError)


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

    def each(self, rows: Iterable[tuple[str, T]], take: Callable[[str, T], None]) -> None:
        """Take the rows one by one. A row is written by strangers: whatever `take` trips over is listed."""
        for where, row in rows:
            try:
                take(where, row)
            except UnfitError as error:
                self.leave(where, str(error))
            except _FAULTS:
                self.leave(where, _ODD)

    def add(self, where: str, row: Mapping[str, Any]) -> None:
        """Take a case over; one that has no oracle left tells nothing, and is listed instead."""
        if len(self.rows) >= MAX_CASES:
            raise UsageError(f"more than {MAX_CASES} cases; split the file")
        if too_deep(row):
            self.leave(where, f"row nested more than {MAX_DEPTH} deep")
        elif row.get("oracles"):
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
    seen: set[str] = set()

    def take(where: str, row: Mapping[str, Any]) -> None:
        mistakes: list[Problem] = []
        own = {**row, "id": _fresh(str(row.get("id", len(cases) + 1)), seen)}
        try:
            cases.append(case_of(own, 0, where, defaults, mistakes.append))
        except RowError:
            key = mistakes[0].path.removeprefix(where).lstrip(".")
            raise UnfitError(f"case that cannot be used: {key} {mistakes[0].message}") from None

    rows.each(rows.rows, take)
    return Imported(suite=named(name, tuple(cases)), unsupported=tuple(rows.unsupported), notes=tuple(rows.notes))


def _fresh(name: str, seen: set[str]) -> str:
    """The id, with a number behind it where another case of the file has it."""
    found, number = name, 1
    while found in seen:
        number += 1
        found = f"{name}#{number}"
    seen.add(found)
    return found
