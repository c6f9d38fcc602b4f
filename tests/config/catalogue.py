"""A small catalogue: the loader knows no probe, so its tests bring their own."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from monitor.config import Catalogues


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    n_requests: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast does it answer?"""

    kind: ClassVar[str] = "speed"
    max_tokens: int = 64
    """Length of each answer."""
    modes: tuple[Literal["cold", "warm"], ...] = ("cold",)

    def cost(self) -> Cost:
        return Cost(n_requests=5, tokens_in=500, tokens_out=5 * self.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logprobs:
    """What does it believe?"""

    kind: ClassVar[str] = "logprobs"
    top_k: Annotated[int, Field(ge=1)] = 20
    note: int | str | None = None

    def __post_init__(self) -> None:
        if self.top_k > 20:
            raise ValueError(f"`top_k` {self.top_k} is above 20")

    def cost(self) -> Cost:
        return Cost(n_requests=32, tokens_in=1280, tokens_out=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogprobFidelity:
    """Is it further from golden than its precision allows?"""

    kind: ClassVar[str] = "logprob_fidelity"
    fail_nats: float = 0.1
    """Above this it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """Do the bills add up?"""

    kind: ClassVar[str] = "accounting"
    strict: bool = True


CATALOGUES = Catalogues(
    probes={"speed": Speed, "logprobs": Logprobs},
    detectors={"logprob_fidelity": LogprobFidelity, "accounting": Accounting},
    protocols=("openai_chat",),
)
