"""Weights in NF4: 4-bit codes at the quantiles of a normal distribution, as bitsandbytes and QLoRA store them.

Blocks of 64 run over the flattened tensor; the last block may be shorter. Each is scaled by its largest magnitude
(kept in float32: double quantisation of the scales is not modelled) and takes the nearest code.
Source: T. Dettmers et al., "QLoRA", NeurIPS 2023, appendix E (the sixteen values).
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from reference.variants.variant import Variant, Weights, is_linear

CODES = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
     -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0],
    dtype=np.float32,
)  # fmt: skip
_BORDERS = (CODES[1:] + CODES[:-1]) / 2
_BLOCK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Nf4(Variant):
    """Linear layers in NF4."""

    kind: ClassVar[str] = "nf4"

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """The scheme has no parameters."""
        return (cls(),)

    @property
    def family(self) -> str:
        """Four bits."""
        return "4-bit"

    def apply(self, name: str, weight: Weights) -> Weights:
        """Take the nearest code in every block of linear layers."""
        if not is_linear(name, weight):
            return weight
        flat = np.pad(weight.reshape(-1), (0, -weight.size % _BLOCK)).reshape(-1, _BLOCK)
        peak = np.abs(flat).max(axis=1, keepdims=True)
        unit = np.divide(flat, peak, out=np.zeros_like(flat), where=peak > 0)
        coded: Weights = CODES[np.searchsorted(_BORDERS, unit)] * peak
        return coded.reshape(-1)[: weight.size].reshape(weight.shape)


VARIANT = Nf4
