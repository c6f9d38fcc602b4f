"""Another sampler: temperature, top-p, top-k or a repetition penalty that was not asked for.

The model's own logprobs stay as they are; what is drawn from changes. Order as in Hugging Face transformers: penalty,
temperature, top-k, top-p. The penalty divides positive logits and multiplies negative ones; on log-probabilities, all
of them negative, it multiplies (what vLLM and llama.cpp do on logits differs by a shift per position).
Source of the penalty: N. Keskar et al., "CTRL", arXiv:1909.05858, section 4.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from monitor.ports import Floats
from reference.variants.variant import Part, Variant

_OPTIONS = {
    "temperature": "--temp", "top_p": "--top-p", "top_k": "--top-k", "repetition_penalty": "--repeat-penalty"
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler(Variant):
    """A sampler whose fields are not None."""

    kind: ClassVar[str] = "sampler"
    changes: ClassVar[Part] = "sampler"
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """One setting off at a time, as far as default settings of engines go."""
        return (
            cls(temperature=1.1), cls(temperature=0.8), cls(top_p=0.9), cls(top_k=20), cls(repetition_penalty=1.1)
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The settings, ``temperature-1.1``."""
        return "+".join(f"{key.replace('_', '-')}-{value:g}" for key, value in self._set.items()) or "sampler"

    @property
    def _set(self) -> dict[str, float]:
        values = {key: getattr(self, key) for key in _OPTIONS}
        return {key: value for key, value in values.items() if value is not None}

    def distribution(self, logprobs: Floats, seen: Sequence[int]) -> Floats:
        """Apply what is set; tokens that cannot be drawn get -inf."""
        found = np.array(logprobs, dtype=np.float64)
        if self.repetition_penalty is not None:
            repeated = np.unique(np.asarray(seen, dtype=np.int64))
            found[repeated] *= self.repetition_penalty
        if self.temperature is not None:
            found /= self.temperature
        if self.top_k is not None:
            found[np.argsort(-found, kind="stable")[self.top_k :]] = -np.inf
        if self.top_p is not None:
            found[_beyond(found, self.top_p)] = -np.inf
        return np.asarray(found - np.logaddexp.reduce(found), dtype=np.float64)

    def server_options(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        """The server's defaults, which hold where a request says nothing."""
        del config
        return tuple(part for key, value in self._set.items() for part in (_OPTIONS[key], f"{value:g}"))


def _beyond(logits: Floats, top_p: float) -> Any:
    """Return the ids outside the smallest set of most likely tokens that holds the mass `top_p`."""
    order = np.argsort(-logits, kind="stable")
    mass = np.exp(logits[order] - logits[order[0]])
    before = np.cumsum(mass) - mass
    return order[before >= top_p * mass.sum()]


VARIANT = Sampler
