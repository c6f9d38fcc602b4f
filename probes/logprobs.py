"""What does the endpoint believe about the next token?

Sends: one request for each of 32 fixed prompts with top-k logprobs at temperature 0, not streamed: `one_token` of
them ask for a single token, the others for a short greedy answer of `greedy_tokens`.
Costs: 32 requests, about 40 tokens in each, 16 + 16 x 8 = 144 tokens out.
What can mislead it: endpoints that return logprobs after temperature or after masking; several backends behind one
name; an endpoint without logprobs (then the detectors say so). Prompts are short: faults of long contexts need
another probe.
Source: teacher-forced comparison with golden weights, DESIGN sections 1 and 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.types import Exchange, Request
from probes.ask import measured
from probes.cost import Cost, cost_of
from probes.prompts import PROMPTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Logprobs:
    """Top-k logprobs on a fixed prompt set."""

    kind: ClassVar[str] = "logprobs"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="logprob_coverage", unit="share", better="higher", source="DESIGN section 5",
               definition="Complete answers with usable logprobs at every token / complete answers, k of n."),
    )  # fmt: skip

    top_k: int = 20
    """Alternatives to ask for at each position."""
    one_token: int = 16
    """Prompts asked for a single token."""
    greedy: int = 16
    """Prompts asked for a short greedy answer."""
    greedy_tokens: int = 8
    """Length of the greedy answers, tokens."""

    def __post_init__(self) -> None:
        if min(self.top_k, self.greedy_tokens) < 1 or min(self.one_token, self.greedy) < 0:
            raise ValueError("`top_k` and `greedy_tokens` must be at least 1, `one_token` and `greedy` at least 0")
        if not 0 < self.one_token + self.greedy <= len(PROMPTS):
            raise ValueError(f"`one_token` + `greedy` must be between 1 and {len(PROMPTS)}, the size of the prompt set")

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests. They are the same in every run; `seed` only goes into the request's own seed."""
        prompts = list(PROMPTS.items())[: self.one_token + self.greedy]
        return tuple(
            Request(
                prompt_id=prompt_id,
                messages=messages,
                max_tokens=1 if index < self.one_token else self.greedy_tokens,
                temperature=0.0,
                seed=seed,
                top_logprobs=self.top_k,
                stream=False,
            )
            for index, (prompt_id, messages) in enumerate(prompts)
        )

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all prompts, within the provider's concurrency."""
        return await measured(client, self.requests(context.seed), context, observe)


def observe(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Count the answers that can be compared at all."""
    answered = [exchange for exchange in exchanges if exchange.answered]
    usable = sum(_usable(exchange) for exchange in answered)
    if not answered:
        return (Observation(metric="logprob_coverage", value=None, n=0, reason="no complete answer"),)
    return (Observation(metric="logprob_coverage", value=usable / len(answered), n=len(answered), k=usable),)


def _usable(exchange: Exchange) -> bool:
    entries = exchange.choice.logprobs
    return bool(entries) and all(entry.logprob is not None and entry.top for entry in entries or ())


PROBE = Logprobs
