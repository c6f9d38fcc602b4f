"""Which variant of the golden weights answers here?

Sends: one request for each of `prompts` prompts of the pool, for a single token with top-k logprobs at temperature 0,
not streamed. The same prompts in every run, because predictions for other ones would have to be computed first.
Costs: 40 requests, about 45 tokens in each, 40 tokens out. `weighmaster identify` stops earlier when it knows.
What can mislead it: endpoints that return logprobs after temperature or after masking; an endpoint that knows these
prompts and answers them with better weights than others.
Source: docs/identify.md.
"""

from dataclasses import dataclass
from typing import ClassVar

from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric
from monitor.types import Request
from probes.ask import measured
from probes.cost import Cost, cost_of
from probes.logprobs import observe
from probes.prompt_pool import pool_prompts


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
    top_k: int = 20
    """Alternatives to ask for."""
    skip: int = 0
    """Prompts of the list that were asked before."""
    order: int = 20260101
    """Seed of the order in which the pool is asked."""

    def __post_init__(self) -> None:
        if self.top_k < 1 or self.skip < 0:
            raise ValueError("`top_k` must be at least 1, `skip` at least 0")
        pool_prompts(self.prompts, self.order, skip=self.skip)

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests. They are the same in every run; `seed` only goes into the request's own seed."""
        return tuple(
            Request(
                prompt_id=prompt_id, messages=messages, max_tokens=1, temperature=0.0, seed=seed,
                top_logprobs=self.top_k, stream=False, optional=("seed", "reasoning_off"),
            )
            for prompt_id, messages in pool_prompts(self.prompts, self.order, skip=self.skip).items()
        )  # fmt: skip

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all prompts, within the provider's concurrency."""
        return await measured(client, self.requests(context.seed), context, observe)


PROBE = Identify
