"""A context cut short: of longer prompts, only the last tokens reach the model, and nobody is told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from reference.variants.variant import Part, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Variant):
    """Only the last ``tokens`` of a prompt."""

    kind: ClassVar[str] = "context"
    changes: ClassVar[Part] = "context"
    tokens: int = 2048

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """Common default sizes of local servers."""
        return cls(tokens=2048), cls(tokens=4096)

    @property
    def name(self) -> str:
        """``context-2048``."""
        return f"context-{self.tokens}"

    def prompt_ids(self, ids: Sequence[int]) -> list[int]:
        """Keep the end."""
        return list(ids)[-self.tokens :]


VARIANT = Context
