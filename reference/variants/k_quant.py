"""Weights in the 2-bit super-blocks of llama.cpp: Q2_K.

Embeddings and head are Q8_0, and vectors stay float32. Rows that do not divide into 256 become Q4_0, and those that do
not divide into 32 F16. Of SmolLM2-135M, whose hidden size is 576, only the second matrix of each MLP (1536) is Q2_K.
llama-quantize differs in three ways. Its fallback for 256 is IQ4_NL, which has Q4_0's blocks of 32 and 4 bits, but
uneven steps. Its recipe Q2_K gives more bits to attention values and outputs and to the second matrices (Q3_K). Its
head, and embeddings shared with it, are Q6_K where 256 divides; embeddings of their own are Q2_K.
The engine's rounding of activations to int8 is not modelled.
Source: llama.cpp's choice of types (llama-quant.cpp).
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from reference.variants.gguf_block import GgufBlock
from reference.variants.q2_k import BLOCK, Q2K
from reference.variants.variant import Variant, Weights

_KEPT = ("embed", "lm_head")


@dataclass(frozen=True, slots=True, kw_only=True)
class KQuant(Variant):
    """Matrices in Q2_K."""

    kind: ClassVar[str] = "k_quant"

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """The scheme has no parameters."""
        return (cls(),)

    @property
    def name(self) -> str:
        """The type."""
        return "Q2_K"

    @property
    def family(self) -> str:
        """Two bits."""
        return "2-bit"

    def apply(self, name: str, weight: Weights) -> Weights:
        """Quantise and dequantise a matrix."""
        if self.gguf_type(name, weight) != "Q2_K":
            return _other(name).apply(name, weight)
        return Q2K.of(weight).values().reshape(weight.shape)

    def gguf_type(self, name: str, weight: Weights) -> str | None:
        """Q2_K, or the type of a tensor that is kept better or does not divide."""
        divides = weight.ndim >= 2 and weight.shape[-1] % BLOCK == 0
        return "Q2_K" if divides and not _is_kept(name) else _other(name).gguf_type(name, weight)


def _is_kept(name: str) -> bool:
    return any(part in name for part in _KEPT)


def _other(name: str) -> GgufBlock:
    return GgufBlock(type="Q8_0" if _is_kept(name) else "Q4_0")


VARIANT = KQuant
