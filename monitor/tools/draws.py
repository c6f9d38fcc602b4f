"""What golden weights do about tools when the same cases are put to them several times."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDraws:
    """Golden's answers to one case, as our own parser of the model's family reads them.

    One entry per draw whose decision is known: ``calls`` how many calls it makes, ``sound`` whether all of them can be
    read and are valid (False where it makes none). ``n_cut`` draws were cut by the cap before they called.
    """

    calls: tuple[int, ...]
    sound: tuple[bool, ...]
    n_cut: int = 0

    @property
    def k(self) -> int:
        """Draws that call a tool."""
        return sum(count > 0 for count in self.calls)

    @property
    def n(self) -> int:
        """Draws whose decision is known."""
        return len(self.calls)

    @property
    def unsound(self) -> int:
        """Draws that call a tool in a way that cannot be run."""
        return sum(count > 0 and not good for count, good in zip(self.calls, self.sound, strict=True))


@runtime_checkable
class WantsToolDraws(Protocol):
    """A detector that holds decisions about tools against golden's (``Evidence.tool_draws``)."""

    @property
    def probes(self) -> frozenset[str] | None:
        """The kinds of probes whose cases are drawn."""
        ...

    @property
    def tool_draws(self) -> int:
        """How many golden answers to each case."""
        ...
