"""Another base of the rotary position embedding: a conversion or a long-context hack that lost the model's own.

Weights stay; positions are read on another scale, so the fault grows with the length of the prompt.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from monitor.errors import GoldenError
from reference.variants.variant import Part, Variant


def base_of(config: Mapping[str, Any]) -> float:
    """Return the rotary base of a ``config.json``, as transformers 4 or 5 writes it.

    Raises
    ------
    GoldenError
        When the model has none.
    """
    inner = config.get("rope_parameters") or {}
    base = inner.get("rope_theta", config.get("rope_theta"))
    if not isinstance(base, int | float):
        raise GoldenError("config.json has no rope_theta: a RoPE variant of this model makes no sense")
    return float(base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rope(Variant):
    """The rotary base times ``factor``."""

    kind: ClassVar[str] = "rope"
    changes: ClassVar[Part] = "rope"
    factor: float = 0.1

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """A tenth of the base: 10 000 where the model was trained with 100 000."""
        return (cls(factor=0.1),)

    @property
    def name(self) -> str:
        """``rope-x0.1``."""
        return f"rope-x{self.factor:g}"

    @property
    def family(self) -> str:
        """RoPE."""
        return "RoPE"

    def config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Write the changed base where the golden one stands."""
        base = base_of(config) * self.factor
        changed = dict(config)
        if config.get("rope_parameters"):
            changed["rope_parameters"] = {**config["rope_parameters"], "rope_theta": base}
        else:
            changed["rope_theta"] = base
        return changed

    def server_options(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        """The base as an option of the server."""
        return "--rope-freq-base", f"{base_of(config) * self.factor:g}"


VARIANT = Rope
