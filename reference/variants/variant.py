"""What all variants have in common: the golden side, changed in one place.

A variant is a frozen dataclass whose fields are the parameters of its scheme. It overrides the one or two hooks that it
needs; the others leave the golden side as it is. All hooks are pure, so the same variant predicts (identification,
calibration) and serves (lab).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from monitor.ports import Floats

Part = Literal["weights", "template", "tokenizer", "sampler", "context", "cache", "rope", "layers", "checkpoint",
               "mixture"]  # fmt: skip
"""What a variant changes."""

Weights = NDArray[np.float32]
"""One tensor of weights; the last axis is the input of a linear layer, the one before it the output channels."""

_KEPT = ("embed", "lm_head", "norm", ".gate.weight", "router")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Golden weights, template and sampler as they are: the base of all variants.

    ``kind`` names the scheme, ``changes`` the part it touches; ``name`` tells its parameters too and is unique within
    the bank; ``family`` is the class that a verdict speaks of (``bf16-class``, ``4-bit``, ``template``, ...).
    """

    kind: ClassVar[str] = "golden"
    changes: ClassVar[Part] = "weights"

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """The parameters that occur in practice: what goes into the bank."""
        return ()

    @property
    def name(self) -> str:
        """The scheme with its parameters."""
        return self.kind

    @property
    def family(self) -> str:
        """The class of faults that this one belongs to."""
        return self.kind

    def apply(self, name: str, weight: Weights) -> Weights:
        """Return the weights that are computed with, of the tensor that the checkpoint calls `name`."""
        del name
        return weight

    def tensor_name(self, name: str, config: Mapping[str, Any]) -> str | None:
        """Return the name of a golden tensor in the variant, None for one that is left out."""
        del config
        return name

    def config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variant's ``config.json``."""
        return dict(config)

    def template(self, source: str) -> str:
        """Return the text of the variant's chat template."""
        return source

    def merges(self, merges: Sequence[Any]) -> list[Any]:
        """Return the merges of the variant's byte-pair tokenizer."""
        return list(merges)

    def prompt_ids(self, ids: Sequence[int]) -> list[int]:
        """Return what the model gets to see of the prompt."""
        return list(ids)

    def distribution(self, logprobs: Floats, seen: Sequence[int]) -> Floats:
        """Return the log-probabilities (V,) that are sampled from, where the model gave `logprobs` after `seen`."""
        del seen
        return logprobs

    def gguf_type(self, name: str, weight: Weights) -> str | None:
        """Return the GGUF type that holds the variant's matrix exactly; None leaves the choice to the writer."""
        del name, weight
        return None

    def server_options(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a server of the lab is told besides, given the golden ``config.json``."""
        del config
        return ()


def is_linear(name: str, weight: Weights) -> bool:
    """Whether a tensor belongs to a linear layer that engines quantise.

    Embeddings, the head, norms and the routers of mixtures of experts stay in full precision, as the recipes of vLLM's
    llm-compressor, bitsandbytes and AutoGPTQ have it.
    """
    return weight.ndim >= 2 and name.endswith("weight") and not any(part in name for part in _KEPT)


def in_groups(weight: Weights, size: int | None) -> Weights:
    """Return `weight` as (..., n_groups, size) along its last axis.

    It is one group where `size` is None or does not divide the axis.
    """
    n_inputs = weight.shape[-1]
    width = size if size is not None and n_inputs % size == 0 else n_inputs
    return weight.reshape(*weight.shape[:-1], -1, width)


def scale_of(groups: Weights, largest: float) -> Weights:
    """Return the scale that maps the largest magnitude of each group (last axis) onto `largest`; 1 for all zeros."""
    peak = np.abs(groups).max(axis=-1, keepdims=True)
    return np.where(peak > 0, peak / np.float32(largest), np.float32(1)).astype(np.float32)
