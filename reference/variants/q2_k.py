"""Weights as Q2_K blocks: 256 values in 16 sub-blocks of 16, each value ``d * scale * code - dmin * floor``.

Codes have 2 bits; scale and floor are 4-bit numbers of the sub-block; d and dmin half-precision numbers of the block.
Every sub-block is fitted by a line through its codes. The search begins with the line from its smallest (at most 0) to
its largest value. Each of 16 trial steps then rounds the values to codes, from the floor of the best line so far, and
takes the line of least squares through them. The line of least absolute error wins. Errors weigh as the magnitude of
the value, as llama-quantize has it without an importance matrix. The lines are rounded to 4 bits and the codes taken
anew. On the 135M model 97% of the weights are those of ggml's own code, and its rounding errors correlate at 0.985.
The package gguf reads Q2_K but does not write it.
Source: the format and the range of trial steps of ggml (block_q2_K in ggml-common.h, ggml-quants.c).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from reference.variants.variant import Weights

BLOCK = 256
"""Values in a block: a row must divide into them."""

_SUB = 16
_TOP = 3
_FINEST = 15
_STEPS = tuple(_TOP + shift / 10 for shift in range(-5, 11))
"""Trial steps, as their number from the floor to the largest value: with more than three, large values saturate."""
_AT_ONCE = 1024
"""Blocks fitted together: the temporaries stay in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Q2K:
    """Coded weights: n blocks, in the order of the rows."""

    d: NDArray[np.float16]
    """(n,)"""
    dmin: NDArray[np.float16]
    """(n,)"""
    scales: NDArray[np.uint8]
    """(n, 16), 0 to 15"""
    floors: NDArray[np.uint8]
    """(n, 16), 0 to 15"""
    codes: NDArray[np.uint8]
    """(n, 256), 0 to 3"""

    @classmethod
    def of(cls, weight: Weights) -> Self:
        """Fit `weight` (..., columns); `columns` must divide into blocks of 256."""
        blocks = np.ascontiguousarray(weight, dtype=np.float32).reshape(-1, BLOCK)
        parts = [cls._fitted(blocks[at : at + _AT_ONCE]) for at in range(0, len(blocks), _AT_ONCE)]
        return cls(
            d=np.concatenate([part.d for part in parts]),
            dmin=np.concatenate([part.dmin for part in parts]),
            scales=np.concatenate([part.scales for part in parts]),
            floors=np.concatenate([part.floors for part in parts]),
            codes=np.concatenate([part.codes for part in parts]),
        )

    @classmethod
    def _fitted(cls, blocks: Weights) -> Self:
        values = blocks.reshape(-1, _SUB).T.copy()  # the 16 values first: sums over them run along whole rows
        scale, floor = (part.reshape(-1, _SUB) for part in _lines(values))
        d, scales = _four_bits(scale)
        dmin, floors = _four_bits(floor)
        step = (d.astype(np.float32)[:, None] * scales).reshape(-1)
        low = (dmin.astype(np.float32)[:, None] * floors).reshape(-1)
        codes = _codes(values, _inverse(step), -low).astype(np.uint8)
        return cls(d=d, dmin=dmin, scales=scales, floors=floors, codes=codes.T.reshape(-1, BLOCK))

    def values(self) -> Weights:
        """Return the weights (n, 256) that an engine computes with."""
        step = self.d.astype(np.float32)[:, None] * self.scales
        low = self.dmin.astype(np.float32)[:, None] * self.floors
        sub = self.codes.reshape(-1, _SUB, _SUB).astype(np.float32)
        found: Weights = step[..., None] * sub - low[..., None]
        return found.reshape(-1, BLOCK)

    def packed(self) -> NDArray[np.uint8]:
        """Return the bytes (n, 84) of a GGUF file.

        First 16 bytes of scales with floors in the upper half; then the codes, four to a byte: byte b of each half of
        the block holds its values b, b + 32, b + 64 and b + 96; then d and dmin.
        """
        quarters = self.codes.reshape(-1, 2, 4, 32)
        pairs = quarters[:, :, 0] | quarters[:, :, 1] << 2 | quarters[:, :, 2] << 4 | quarters[:, :, 3] << 6
        ends = np.stack([self.d, self.dmin], axis=1).astype("<f2").view(np.uint8)
        return np.concatenate([self.scales | self.floors << 4, pairs.reshape(-1, BLOCK // 4), ends], axis=1)


def _lines(values: Weights) -> tuple[Weights, Weights]:
    """Return scale and floor, both at least 0, of the best line through each column of `values` (16, n)."""
    weight, top = np.abs(values), values.max(axis=0)
    floor = np.maximum(-values.min(axis=0), 0)
    scale = (top + floor) / _TOP
    best = _error(values, weight, _codes(values, _inverse(scale), -floor), scale, floor)
    for steps in _STEPS:
        codes = _codes(values, np.float32(steps) * _inverse(top + floor), -floor)
        slope, offset = _least_squares(values, weight, codes)
        error = _error(values, weight, codes, slope, offset)
        better = error < best
        best = np.where(better, error, best)
        scale, floor = np.where(better, slope, scale), np.where(better, offset, floor)
    return scale, floor


def _error(values: Weights, weight: Weights, codes: Weights, scale: Weights, floor: Weights) -> Weights:
    found: Weights = (weight * np.abs(scale * codes - floor - values)).sum(axis=0)
    return found


def _least_squares(values: Weights, weight: Weights, codes: Weights) -> tuple[Weights, Weights]:
    """Return the weighted line ``slope * codes - offset`` per column, through the origin where offset would be below 0.

    Both are 0 where codes that weigh anything are all the same, and no line is determined.
    """
    weighted = weight * codes
    total, first, second = weight.sum(axis=0), weighted.sum(axis=0), (weighted * codes).sum(axis=0)
    height, product = (weight * values).sum(axis=0), (weighted * values).sum(axis=0)
    inverse = _inverse(total * second - first * first)
    slope = (total * product - first * height) * inverse
    offset = (first * product - second * height) * inverse
    line = offset > 0
    slope = np.where(line, slope, product * _inverse(second))
    return np.maximum(slope, 0), np.where(line, offset, np.float32(0))


def _four_bits(numbers: Weights) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    """Return the unit (n,) and the multiples (n, 16) that are nearest to `numbers` (n, 16) >= 0."""
    peak = numbers.max(axis=1)
    unit = (peak / _FINEST).astype(np.float16)
    return unit, np.rint(numbers * (_FINEST * _inverse(peak))[:, None]).astype(np.uint8)


def _codes(values: Weights, steps: Weights, low: Weights) -> Weights:
    """Round `values` (16, n) to codes, where `steps` is one over the step and `low` the value of code 0, both (n,)."""
    codes: Weights = np.clip(np.rint((values - low) * steps), 0, _TOP)
    return codes


def _inverse(numbers: Weights) -> Weights:
    """Return one over `numbers`, 0 for 0."""
    found: Weights = np.divide(1, numbers, out=np.zeros_like(numbers), where=numbers > 0)
    return found
