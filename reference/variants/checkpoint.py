"""Another checkpoint instead of the golden one: an AWQ or GPTQ file, another revision, a sibling.

``path`` is a Hugging Face folder of the same architecture whose tensors have the golden names. A folder of another
shape is used as it is (`reference.engine` loads it, the lab serves its GGUF); ``family`` says what it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from monitor.errors import GoldenError
from reference.folder import read_json
from reference.variants.tensors import read_tensor
from reference.variants.variant import Part, Variant, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Variant):
    """The weights and config in the folder ``path``."""

    kind: ClassVar[str] = "checkpoint"
    changes: ClassVar[Part] = "checkpoint"
    path: str
    label: str = field(default="other checkpoint")

    @property
    def name(self) -> str:
        """``checkpoint-`` and the folder's name."""
        return f"checkpoint-{Path(self.path).name}"

    @property
    def family(self) -> str:
        """What the user calls it."""
        return self.label

    def apply(self, name: str, weight: Weights) -> Weights:
        """Take the tensor of that name from the other folder.

        Raises GoldenError when it is not there, or has another shape.
        """
        other = read_tensor(Path(self.path), name)
        if other.shape != weight.shape:
            raise GoldenError(f"{self.path}: {name} has shape {other.shape}, golden's is {weight.shape}")
        return other

    def config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Take the other folder's ``config.json``."""
        del config
        return read_json(Path(self.path), "config.json")


VARIANT = Checkpoint
