"""Errors that the caller can act on.

::

    WeighmasterError          base; the message names the place and the remedy
    ├── ConfigError           one or more mistakes in the configuration (exit 2)
    ├── UsageError            a command was called with something it cannot use (exit 2)
    ├── GoldenError           the golden folder is missing, changed or unusable (exit 2)
    │   └── TaskRefusedError  one task cannot be scored: beyond the context, the memory or the vocabulary
    └── StoreError            the store cannot be reached or refuses (exit 3)
        ├── InUseError        another process has the file open
        └── SpoolFullError    the agent's spool has no room

Faults of endpoints are data (`Exchange.outcome`), never exceptions. Anything else that is raised is our bug.
"""

from dataclasses import dataclass


class WeighmasterError(Exception):
    """Base of all errors that a user can act on.

    ``exit_code`` is what a command returns when the error reaches it.
    """

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in the configuration: where it stands, what is wrong, what to write instead.

    One that is ``aside`` is no mistake of the file, and told beside those that are.
    """

    path: str
    message: str
    suggestion: str | None = None
    aside: bool = False

    def __str__(self) -> str:
        hint = f" ({self.suggestion})" if self.suggestion else ""
        return f"{self.path}: {self.message}{hint}"


class ConfigError(WeighmasterError):
    """The configuration, or another file of the user's called `source`, cannot be used; carries *all* mistakes."""

    def __init__(self, problems: tuple[Problem, ...], source: str = "the configuration") -> None:
        self.problems = problems
        self.source = source
        super().__init__("\n".join(str(problem) for problem in problems))


class UsageError(WeighmasterError):
    """A command got an argument or a file that it cannot use."""


class GoldenError(WeighmasterError):
    """The golden reference is missing, damaged, changed, or cannot do what was asked."""


class TaskRefusedError(GoldenError):
    """The golden side works, and one of the tasks is beyond what it can render or score."""


class StoreError(WeighmasterError):
    """The store is busy, unreachable, or of a newer version."""

    exit_code = 3


class InUseError(StoreError):
    """Another process has the file: ask that one, or stop it first."""


class SpoolFullError(StoreError):
    """The agent's spool cannot take more; nothing that it holds is lost."""
