"""What does the endpoint say when it is told to take its likeliest token every time?

Sends: `prompts` requests at temperature 0 with an answer of at most `tokens` tokens each, not streamed. Prompts come
from the pool by seed, so that every run asks others. Asks for top-k logprobs where the protocol has words for them.
Costs: 20 requests, about 45 tokens in each, 20 x 32 = 640 tokens out.
What can mislead it: endpoints that ignore temperature 0 (many flips at any position); several backends behind one
name; an endpoint that refuses requests with logprobs (set `top_k` to none, the text is enough for flips).
Source: many short answers rather than one long one: flips of one answer are not independent (docs/statistics.md, B6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.types import Exchange, Request
from monitor.wire.usage import read_usage
from probes.ask import measured
from probes.cost import Cost, cost_of
from probes.prompt_pool import prompts_of
from probes.prompts import Conversation

_OPTIONAL = ("seed", "reasoning_off", "top_logprobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Short greedy answers to many prompts."""

    kind: ClassVar[str] = "greedy"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="greedy_tokens", unit="tokens", better="neither", source="monitor.wire.usage",
               definition="Mean answer tokens that the endpoint counts, per complete greedy answer."),
    )  # fmt: skip

    prompts: int = 20
    """Prompts asked, of the 960 in the pool."""
    tokens: int = 32
    """Longest answer, tokens."""
    top_k: int | None = 20
    """Alternatives to ask for at each position; none asks for text only."""
    skip: int = 0
    """Prompts of the order that were asked before."""
    chosen: tuple[str, ...] = ()
    """Prompts to ask in this order, by name (`pool-17`), the same in every run: those that a pack knows."""

    def __post_init__(self) -> None:
        if self.tokens < 1 or (self.top_k is not None and self.top_k < 1):
            raise ValueError("`tokens` and `top_k` must be at least 1 (`top_k` may be none)")
        self._prompts(0)

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests; `seed` chooses the prompts."""
        return tuple(
            Request(
                prompt_id=prompt_id, messages=messages, max_tokens=self.tokens, temperature=0.0, seed=seed,
                top_logprobs=self.top_k, stream=False, optional=_OPTIONAL,
            )
            for prompt_id, messages in self._prompts(seed).items()
        )  # fmt: skip

    def _prompts(self, seed: int) -> dict[str, Conversation]:
        return prompts_of(self.chosen, self.prompts, seed, skip=self.skip)

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all prompts, within the provider's concurrency."""
        return await measured(client, self.requests(context.seed), context, observe)


def observe(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Say how long the answers were, where the endpoint counts."""
    counts = [count for one in exchanges if one.answered and (count := _generated(one)) is not None]
    if not counts:
        return (Observation(metric="greedy_tokens", value=None, n=0, reason="no complete answer with usage"),)
    return (Observation(metric="greedy_tokens", value=sum(counts) / len(counts), n=len(counts)),)


def _generated(exchange: Exchange) -> float | None:
    return read_usage(exchange.usage or {}).generated


PROBE = Greedy
