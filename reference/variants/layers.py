"""Some middle layers left out: the cheapest way to a smaller, "distilled" model.

The ``drop`` layers in the middle of the stack go; the others are renumbered.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from monitor.errors import GoldenError
from reference.variants.variant import Part, Variant

_NUMBER = re.compile(r"\.layers\.(\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers(Variant):
    """The model without ``drop`` of its layers."""

    kind: ClassVar[str] = "layers"
    changes: ClassVar[Part] = "layers"
    drop: int = 2

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """Two layers fewer."""
        return (cls(drop=2),)

    @property
    def name(self) -> str:
        """``layers-2``."""
        return f"layers-{self.drop}"

    def tensor_name(self, name: str, config: Mapping[str, Any]) -> str | None:
        """Leave out the middle layers, renumber those after them."""
        found = _NUMBER.search(name)
        if found is None:
            return name
        number, first = int(found[1]), (_n_layers(config) - self.drop) // 2
        if first <= number < first + self.drop:
            return None
        return name if number < first else _NUMBER.sub(f".layers.{number - self.drop}.", name)

    def config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Say how many layers are left."""
        changed = {**config, "num_hidden_layers": _n_layers(config) - self.drop}
        if isinstance(types := config.get("layer_types"), list):
            first = (_n_layers(config) - self.drop) // 2
            changed["layer_types"] = types[:first] + types[first + self.drop :]
        return changed


def _n_layers(config: Mapping[str, Any]) -> int:
    found = config.get("num_hidden_layers")
    if not isinstance(found, int):
        raise GoldenError("config.json has no num_hidden_layers: the stack of this model is not described there")
    return found


VARIANT = Layers
