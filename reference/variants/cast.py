"""Weights in 16 bit: what an honest provider serves, and the noise floor of everything else.

Rounds every tensor, norms included, to the nearest value of the type, ties to even. Arithmetic stays float32 here, so
an engine that also computes in 16 bit differs more (compare ``dtype`` of the engine).
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from reference.variants.variant import Variant, Weights


def to_bfloat16(weight: Weights) -> Weights:
    """Return `weight` rounded to bfloat16: the upper 16 bits of a float32."""
    bits = np.ascontiguousarray(weight, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def to_float16(weight: Weights) -> Weights:
    """Return `weight` rounded to IEEE half precision; beyond 65504 it becomes infinite, as in a real cast."""
    with np.errstate(over="ignore"):
        return weight.astype(np.float16).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(Variant):
    """All tensors cast to bf16 or fp16."""

    kind: ClassVar[str] = "cast"
    to: Literal["bf16", "fp16"] = "bf16"

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """Both types."""
        return cls(to="bf16"), cls(to="fp16")

    @property
    def name(self) -> str:
        """The type."""
        return self.to

    @property
    def family(self) -> str:
        """Both are full precision in practice."""
        return "bf16-class"

    def apply(self, name: str, weight: Weights) -> Weights:
        """Round every tensor."""
        del name
        return to_bfloat16(weight) if self.to == "bf16" else to_float16(weight)

    def gguf_type(self, name: str, weight: Weights) -> str | None:
        """The type itself."""
        del name, weight
        return "BF16" if self.to == "bf16" else "F16"


VARIANT = Cast
