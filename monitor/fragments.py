"""The type of what is said of a stream's pieces (`monitor.wire.fragments` counts them)."""

from dataclasses import dataclass
from typing import Literal

Channel = Literal["content", "reasoning", "arguments"]
"""Where a stream puts its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragments:
    """In what pieces a stream brought the text of a channel: how many, and with how many characters in all.

    Tiny pieces have 1 to 4 characters, normal ones 5 to 200, large ones more.
    """

    channel: Channel
    n_tiny: int
    n_normal: int
    n_large: int
    chars_tiny: int
    chars_normal: int
    chars_large: int

    @property
    def n(self) -> int:
        """All pieces."""
        return self.n_tiny + self.n_normal + self.n_large
