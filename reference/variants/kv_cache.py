"""Keys and values kept in 8 or 4 bit: llama.cpp's KV cache of type q8_0 or q4_0.

Blocks of 32 along a head; heads that do not divide keep full precision. A block of q8_0 has the scale max|x| / 127; one
of q4_0 the scale of its value of largest magnitude, sign included, over -8. Scales are rounded to half precision.
In transformers it is an attention implementation, which `register` adds; the variant's ``config.json`` asks for it.
What is rounded are activations, and a small difference between engines rounds them otherwise: on the 135M model the
deviation of llama.cpp's q4_0 cache correlates with this prediction at 0.63, that of q8_0 not at all.
Source: the block formats of ggml (ggml-quants.c).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from reference.variants.variant import Part, Variant

_BLOCK = 32
_NAME = "weighmaster_kv_{}"


def quantised(states: Any, bits: int) -> Any:
    """Return the torch tensor `states` (..., head size) as it comes back out of a cache of `bits`."""
    if states.shape[-1] % _BLOCK:
        return states
    blocks = states.float().unflatten(-1, (-1, _BLOCK))
    if bits == 8:
        scale = blocks.abs().amax(-1, keepdim=True) / 127
        codes = (blocks / scale).abs().add(0.5).floor().copysign(blocks)
    else:
        where = blocks.abs().argmax(-1, keepdim=True)
        scale = blocks.gather(-1, where) / -8
        codes = (blocks / scale + 8.5).clamp(0, 15.5).floor() - 8
    coded = (codes * scale.half().float()).where(scale != 0, 0.0)
    return coded.flatten(-2).to(states.dtype)


def register() -> None:
    """Make both cache types known to transformers. Call it before a folder that asks for one is loaded."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS  # noqa: PLC0415  # seconds to import
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: PLC0415

    exact: Any = ALL_ATTENTION_FUNCTIONS["sdpa"]
    for bits in (8, 4):
        ALL_ATTENTION_FUNCTIONS.register(_NAME.format(bits), _attention(exact, bits))
        ALL_MASK_ATTENTION_FUNCTIONS.register(_NAME.format(bits), ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


def _attention(exact: Any, bits: int) -> Any:
    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        return exact(module, query, quantised(key, bits), quantised(value, bits), mask, **options)

    return attend


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCache(Variant):
    """The KV cache in ``bits``."""

    kind: ClassVar[str] = "kv_cache"
    changes: ClassVar[Part] = "cache"
    bits: Literal[8, 4] = 8

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """Both widths."""
        return cls(bits=8), cls(bits=4)

    @property
    def name(self) -> str:
        """``kv-8`` or ``kv-4``."""
        return f"kv-{self.bits}"

    @property
    def family(self) -> str:
        """KV."""
        return "KV"

    def config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Ask transformers for the attention that `register` adds."""
        return {**config, "attn_implementation": _NAME.format(self.bits)}

    def server_options(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        """The server's cache type."""
        del config
        return "--cache-type", f"q{self.bits}_0"


VARIANT = KvCache
