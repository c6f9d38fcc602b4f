"""Decoys: schemes that round as much as a known one does, and otherwise.

A decoy shuffles the inputs of every matrix, applies the scheme and puts the inputs back, so that other weights share a
block. What it predicts has the size of the scheme's deviation and another direction: an identification must not name
it. It is no variant of the bank, and has no part in the hash of the schemes.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reference.variants.variant import Part, Variant, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoy(Variant):
    """The scheme ``of`` with blocks of other weights, shuffled by ``seed``."""

    kind: ClassVar[str] = "decoy"
    changes: ClassVar[Part] = "weights"
    of: Variant
    seed: int = 1

    @property
    def name(self) -> str:
        """The scheme's name with ``decoy``."""
        return f"{self.of.name} decoy"

    @property
    def family(self) -> str:
        """None that is known."""
        return "decoy"

    def apply(self, name: str, weight: Weights) -> Weights:
        """Apply the scheme to shuffled inputs; vectors have none."""
        if weight.ndim < 2:
            return self.of.apply(name, weight)
        order = np.random.default_rng([self.seed, weight.shape[-1]]).permutation(weight.shape[-1])
        changed = np.empty_like(weight)
        changed[..., order] = self.of.apply(name, np.ascontiguousarray(weight[..., order]))
        return changed
