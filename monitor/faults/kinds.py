"""What a fault of the catalogue is, and what a finding says."""

from dataclasses import dataclass
from typing import Literal

Layer = Literal[
    "transport", "framing", "protocol", "parser", "template", "schema", "decision", "content", "sampler", "routing",
    "weights", "engine",
]  # fmt: skip
"""Where the fault sits: the part of the serving stack that somebody must repair."""

Form = Literal["stream", "whole", "pair", "series"]
"""What can carry it: a streamed answer, one that came as one object, two exchanges beside each other, many prompts."""

Standing = Literal["fault", "note"]
"""What a profile makes of a symptom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind. ``number`` is its place in the catalogue, ``name`` how it is called everywhere.

    ``told_by`` names the detector whose verdict already names it; the detector `faults` counts it and leaves the
    judgement to that one. Kinds that are ``of_calls`` are left to `tool_calls` where the probe `tools` asked.
    ``behavioural`` kinds are found only beside the reference, with a stated alpha and power.
    """

    number: int
    name: str
    layer: Layer
    title: str
    symptom: str
    forms: tuple[Form, ...]
    told_by: str | None = None
    of_calls: bool = False

    @property
    def behavioural(self) -> bool:
        """Whether one exchange proves nothing."""
        return self.forms == ("series",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A symptom that was seen. ``where`` is its place in the record, ``sign`` what was seen there, in our words."""

    name: str
    standing: Standing
    where: str
    sign: str
