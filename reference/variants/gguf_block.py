"""Weights in the 32-value block types of llama.cpp: Q8_0, Q5_0, Q4_0, Q4_1.

All matrices are quantised, embeddings and head too (``embeddings`` gives them a type of their own); vectors stay
float32. Rows that do not divide into blocks of 32 become F16, llama-quantize's own fallback. The engine's rounding of
activations to int8 is not modelled.
Source: the block formats of ggml (ggml-quants.c), in the numpy implementation of the package gguf.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from reference.variants.variant import Variant, Weights

Type = Literal["Q8_0", "Q5_0", "Q4_0", "Q4_1"]
_FAMILIES = {"Q8_0": "8-bit", "Q5_0": "5-bit", "Q4_0": "4-bit", "Q4_1": "4-bit"}
_BLOCK = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufBlock(Variant):
    """Matrices in one block type."""

    kind: ClassVar[str] = "gguf_block"
    type: Type = "Q8_0"
    embeddings: Type | None = None

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """The four types, and Q4_0 with the embeddings in Q8_0."""
        plain = tuple(cls(type=kind) for kind in ("Q8_0", "Q5_0", "Q4_1", "Q4_0"))
        return (*plain, cls(type="Q4_0", embeddings="Q8_0"))

    @property
    def name(self) -> str:
        """The type, and that of the embeddings where it differs."""
        return self.type + (f"+emb-{self.embeddings}" if self.embeddings else "")

    @property
    def family(self) -> str:
        """By bits per weight."""
        return _FAMILIES[self.type]

    def apply(self, name: str, weight: Weights) -> Weights:
        """Quantise and dequantise a matrix."""
        from gguf import GGMLQuantizationType  # noqa: PLC0415  # the package is an extra
        from gguf.quants import dequantize, quantize  # noqa: PLC0415

        kind = self.gguf_type(name, weight)
        if kind is None:
            return weight
        target = GGMLQuantizationType[kind]
        matrix: Weights = dequantize(quantize(weight.reshape(-1, weight.shape[-1]), target), target)
        return matrix.reshape(weight.shape).astype(np.float32)

    def gguf_type(self, name: str, weight: Weights) -> str | None:
        """The block type, or F16 for rows that do not divide into blocks."""
        if weight.ndim < 2:
            return None
        wanted = self.embeddings if self.embeddings and "embed" in name else self.type
        return wanted if weight.shape[-1] % _BLOCK == 0 else "F16"


VARIANT = GgufBlock
