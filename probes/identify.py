"""Which variant of the golden weights answers here?

Sends: one request for each of `prompts` prompts of the pool, for a single token with top-k logprobs at temperature 0,
not streamed. Without logprobs (`top_k` none) an answer of `tokens` tokens. The same prompts in every run, because
predictions for other ones would have to be computed first. With `temperature: 1` tokens are drawn plainly (top-p 1, a
seed for every request): for endpoints that take no other temperature, or give logprobs after their sampler.
Costs: 40 requests, about 45 tokens in each, 40 tokens out (480 without logprobs). `weighmaster identify` stops earlier
when it knows.
What can mislead it: endpoints that return logprobs after temperature or after masking; an endpoint that knows these
prompts and answers them with better weights than others; drawn text behind another sampler than was asked for.
Source: docs/identify.md.
"""

import random
from dataclasses import dataclass
from typing import ClassVar

from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric
from monitor.types import Request
from probes.ask import measured
from probes.cost import Cost, cost_of
from probes.logprobs import observe
from probes.prompt_pool import prompts_of
from probes.prompts import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Identify:
    """One token with logprobs to many prompts."""

    kind: ClassVar[str] = "identify"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="logprob_coverage", unit="share", better="higher", source="DESIGN section 5",
               definition="Complete answers with usable logprobs at every token / complete answers, k of n."),
    )  # fmt: skip

    prompts: int = 40
    """Prompts asked, of the 960 in the pool."""
    top_k: int | None = 20
    """Alternatives to ask for; none asks for text only."""
    tokens: int = 12
    """Longest answer where no logprobs are asked for, tokens."""
    skip: int = 0
    """Prompts of the list that were asked before."""
    order: int = 20260101
    """Seed of the order in which the pool is asked."""
    chosen: tuple[str, ...] = ()
    """Prompts to ask in this order, by name (`pool-17`), in place of the pool's own order."""
    temperature: float = 0.0
    """0 for the likeliest tokens, 1 to draw them. Drawn text says much less: let `prompts` x `tokens` be 1,500."""

    def __post_init__(self) -> None:
        if (self.top_k is not None and self.top_k < 1) or self.tokens < 1 or self.skip < 0:
            raise ValueError("`top_k` and `tokens` must be at least 1 (`top_k` may be none), `skip` at least 0")
        if self.temperature not in {0, 1}:
            raise ValueError(f"`temperature` must be 0 or 1, not {self.temperature:g}: golden weights know no other")
        self._prompts()

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests. They are the same in every run; `seed` only goes into the requests' own seeds.

        Those that draw have seeds of their own: with the same random numbers their tokens would not be independent.
        """
        draws = random.Random(f"{seed} {self.skip}")  # noqa: S311  # a choice, not a secret
        return tuple(
            Request(
                prompt_id=prompt_id, messages=messages, max_tokens=1 if self.top_k else self.tokens,
                temperature=self.temperature, top_p=1.0 if self.temperature else None,
                seed=draws.getrandbits(31) if self.temperature else seed, top_logprobs=self.top_k, stream=False,
                optional=("seed", "reasoning_off"),
            )
            for prompt_id, messages in self._prompts().items()
        )  # fmt: skip

    def _prompts(self) -> dict[str, Conversation]:
        return prompts_of(self.chosen, self.prompts, self.order, skip=self.skip)

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all prompts, within the provider's concurrency."""
        return await measured(client, self.requests(context.seed), context, observe)


PROBE = Identify
