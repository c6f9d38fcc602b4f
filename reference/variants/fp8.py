"""Weights in fp8 e4m3 with a scale per tensor, per output channel, or per block of 128 x 128.

The scale maps the largest magnitude onto 448, the largest finite value of e4m3fn [1]_; then values are rounded to the
nearest, ties to even. Blocks of 128 x 128 are DeepSeek-V3's; where a side does not divide, the last block is smaller.
Activations stay in full precision here.

.. [1] P. Micikevicius et al., "FP8 formats for deep learning", arXiv:2209.05433, table 1.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from reference.variants.variant import Variant, Weights, is_linear, scale_of

LARGEST = 448.0
_MIN_EXPONENT = -6
_FRACTION_BITS = 3
_BLOCK = 128


def to_e4m3(values: Weights) -> Weights:
    """Return `values` rounded to fp8 e4m3fn; what lies beyond 448 becomes 448."""
    _, exponent = np.frexp(np.abs(values))
    step = np.ldexp(np.float32(1), np.maximum(exponent - 1, _MIN_EXPONENT) - _FRACTION_BITS)
    rounded: Weights = np.clip(np.rint(values / step) * step, -LARGEST, LARGEST).astype(np.float32)
    return rounded


def _scaled(weight: Weights) -> Weights:
    """Round with one scale for each row of the last axis."""
    scale = scale_of(weight, LARGEST)
    return to_e4m3(weight / scale) * scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Fp8(Variant):
    """Linear layers in fp8 e4m3."""

    kind: ClassVar[str] = "fp8"
    per: Literal["tensor", "channel", "block"] = "tensor"

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """All three scales."""
        return cls(per="tensor"), cls(per="channel"), cls(per="block")

    @property
    def name(self) -> str:
        """``fp8-`` and what has a scale of its own."""
        return f"fp8-{self.per}"

    def apply(self, name: str, weight: Weights) -> Weights:
        """Round linear layers."""
        if not is_linear(name, weight):
            return weight
        if self.per == "tensor":
            return _scaled(weight.reshape(1, -1)).reshape(weight.shape)
        return _scaled(weight) if self.per == "channel" else _blocks(weight)


def _blocks(weight: Weights) -> Weights:
    rounded = np.empty_like(weight)
    for top in range(0, weight.shape[-2], _BLOCK):
        for left in range(0, weight.shape[-1], _BLOCK):
            here = (..., slice(top, top + _BLOCK), slice(left, left + _BLOCK))
            part = weight[here]
            flat = part.reshape(*part.shape[:-2], -1)
            rounded[here] = _scaled(flat).reshape(part.shape)
    return rounded


VARIANT = Fp8
