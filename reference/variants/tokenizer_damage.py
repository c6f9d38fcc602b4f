"""A damaged tokenizer: the last merges are gone, so rare words fall into more pieces than the model was trained on.

Text stays the same, token ids and counts differ where a lost merge was used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reference.variants.variant import Part, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerDamage(Variant):
    """A byte-pair tokenizer without the last ``share`` of its merges."""

    kind: ClassVar[str] = "tokenizer_damage"
    changes: ClassVar[Part] = "tokenizer"
    share: float = 0.5

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """Half of the merges lost."""
        return (cls(share=0.5),)

    @property
    def name(self) -> str:
        """``merges-50%``."""
        return f"merges-{self.share:.0%}"

    @property
    def family(self) -> str:
        """A matter of the tokenizer."""
        return "tokenizer"

    def merges(self, merges: Sequence[Any]) -> list[Any]:
        """Keep the first merges."""
        return list(merges)[: round(len(merges) * (1 - self.share))]


VARIANT = TokenizerDamage
