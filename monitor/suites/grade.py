"""What an oracle sees of an answer, and what it says of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from monitor.types import Exchange, ToolCall

Function = Callable[[str], bool]
"""A customer's own oracle: the text of an answer, and whether it is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An answer as oracles see it.

    ``tools`` are the schemas of the declared functions by name (None for one without). ``golden`` are the texts of
    golden's own answers to the same case, and ``functions`` the Python oracles that the user allowed, by entry point.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tools: Mapping[str, Any] = field(default_factory=dict)
    golden: tuple[str, ...] = ()
    functions: Mapping[str, Function] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """Whether an answer is right; None where that could not be told. ``why`` is a fixed word, never model text."""

    passed: bool | None
    why: str | None = None


RIGHT = Grade(passed=True)


def wrong(why: str) -> Grade:
    """Return the grade of a wrong answer."""
    return Grade(passed=False, why=why)


def untold(why: str) -> Grade:
    """Return the grade of an answer that could not be graded."""
    return Grade(passed=None, why=why)


class Oracle(Protocol):
    """Tells right answers from wrong ones. A frozen dataclass whose fields are its keys in a suite."""

    kind: ClassVar[str]

    @property
    def problem(self) -> str | None:
        """Why this cannot be used, None where it can."""
        ...

    def grade(self, seen: Seen) -> Grade:
        """Grade an answer. Never raises, whatever the answer is."""
        ...


def seen_of(
    exchange: Exchange, tools: Mapping[str, Any], *, golden: tuple[str, ...] = (),
    functions: Mapping[str, Function] | None = None,
) -> Seen:  # fmt: skip
    """Return what oracles see of an answered exchange: its first choice."""
    choice = exchange.choice
    return Seen(
        text=choice.content, calls=choice.tool_calls, tools=tools, golden=golden, functions=functions or {}
    )  # fmt: skip


def joined(grades: list[Grade]) -> Grade:
    """Return the grade of an answer that several oracles looked at: right only where all say so.

    One that says wrong decides, whatever could not be told beside it.
    """
    for passed in (False, None):
        found = next((one for one in grades if one.passed is passed), None)
        if found is not None:
            return found
    return RIGHT if grades else untold("no_oracle")
