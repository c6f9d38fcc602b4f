"""Weights as signed integers, rounded to the nearest: int8 and int4, per output channel or per group of inputs.

Symmetric: the largest magnitude of a group becomes 127 or 7. Groups run along the inputs of one output channel; where
the inputs do not divide into groups, the whole channel is one group. Real int4 checkpoints (AWQ, GPTQ) choose their
values more cleverly: give them as a `checkpoint`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from reference.variants.variant import Variant, Weights, in_groups, is_linear, scale_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(Variant):
    """Linear layers rounded to the nearest integer step. ``group`` None is one scale per output channel."""

    kind: ClassVar[str] = "integer"
    bits: Literal[8, 4] = 8
    group: int | None = None

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """Both widths, per channel and in groups of 32, 64 and 128."""
        sizes = (None, 32, 64, 128)
        return (*(cls(bits=8, group=size) for size in sizes), *(cls(bits=4, group=size) for size in sizes))

    @property
    def name(self) -> str:
        """``int8`` per channel, ``int4-g64`` in groups of 64."""
        return f"int{self.bits}" + (f"-g{self.group}" if self.group else "")

    @property
    def family(self) -> str:
        """``8-bit`` or ``4-bit``."""
        return f"{self.bits}-bit"

    def apply(self, name: str, weight: Weights) -> Weights:
        """Round linear layers."""
        if not is_linear(name, weight):
            return weight
        groups = in_groups(weight, self.group)
        scale = scale_of(groups, 2 ** (self.bits - 1) - 1)
        rounded: Weights = np.rint(groups / scale) * scale
        return rounded.reshape(weight.shape)


VARIANT = Integer
