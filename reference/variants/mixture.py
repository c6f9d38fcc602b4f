"""A share of the requests goes to a variant, the others to the golden weights: partial routing.

Which requests are routed follows from the seed and the number of the request alone, so that a lab run repeats.
"""

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from reference.variants.variant import Part, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture(Variant):
    """``share`` of the requests get ``of``. For what is routed, ask ``of``; this one changes nothing itself."""

    kind: ClassVar[str] = "mixture"
    changes: ClassVar[Part] = "mixture"
    of: Variant
    share: float
    seed: int = 0

    @property
    def name(self) -> str:
        """``10% int4``."""
        return f"{self.share:.0%} {self.of.name}"

    @property
    def family(self) -> str:
        """Partial routing."""
        return "partial routing"

    def routes(self, request: int) -> bool:
        """Whether request number `request` gets the variant."""
        digest = hashlib.blake2b(f"{self.seed}:{request}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) < self.share * 2**64


VARIANT = Mixture
