"""What does the endpoint say when it draws every token plainly, at temperature 1 and without truncation?

Sends: `per_prompt` requests for each of `prompts` prompts, temperature 1 and top-p 1 said out loud, an answer of at
most `tokens` tokens each, not streamed. Prompts come from the pool by seed, so that every run asks others; every
request has a seed of its own, so that answers to one prompt differ. Logprobs are asked for only when `top_k` is set.
Costs: 25 requests, about 45 tokens in each, 25 x 48 = 1,200 tokens out.
What can mislead it: an endpoint that adds its own top-k, min-p or penalty to requests that do not speak of them (that
is what the `sampler` detector finds: llama.cpp's own server does so); answers from a cache, which repeat.
Source: sampled tokens are exact draws from golden under the null (docs/statistics.md); two-sample tests need several
answers per prompt: 25 prompts x 10 answers (arXiv 2410.20247).
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from monitor.evidence import prompt_of
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.types import Exchange, Request
from monitor.wire.usage import read_usage
from probes.ask import measured
from probes.cost import Cost, cost_of
from probes.prompt_pool import pool_prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Plainly sampled answers to many prompts."""

    kind: ClassVar[str] = "sample"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="sample_tokens", unit="tokens", better="neither", source="monitor.wire.usage",
               definition="Mean answer tokens that the endpoint counts, per complete sampled answer."),
        Metric(name="distinct_answers", unit="share", better="higher", source="DESIGN section 6",
               definition="Different texts among complete answers to prompts answered more than once, k of n."),
    )  # fmt: skip

    prompts: int = 25
    """Prompts asked, of the 960 in the pool."""
    per_prompt: int = 1
    """Answers drawn to each prompt; two-sample tests need at least 2, better 10."""
    tokens: int = 48
    """Longest answer, tokens."""
    top_k: int | None = None
    """Alternatives to ask for at each position; none asks for text only, which every endpoint can give."""
    skip: int = 0
    """Prompts of the seed's order that were asked before."""

    def __post_init__(self) -> None:
        if min(self.per_prompt, self.tokens) < 1 or (self.top_k is not None and self.top_k < 1):
            raise ValueError("`per_prompt`, `tokens` and `top_k` must be at least 1 (`top_k` may be none)")
        pool_prompts(self.prompts, 0, skip=self.skip)

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests; `seed` chooses the prompts and the seeds of the requests.

        Those do not count up from `seed`: the same seed in two rounds of an audit would draw with the same random
        numbers twice, and the two answers would not be independent.
        """
        pool = pool_prompts(self.prompts, seed, skip=self.skip)
        asked = [(prompt_id, messages) for _ in range(self.per_prompt) for prompt_id, messages in pool.items()]
        draws = random.Random(f"{seed} {self.skip}")  # noqa: S311  # a choice, not a secret
        return tuple(
            Request(
                prompt_id=prompt_id, messages=messages, max_tokens=self.tokens, temperature=1.0, top_p=1.0,
                seed=draws.getrandbits(31), top_logprobs=self.top_k, stream=False,
            )
            for prompt_id, messages in asked
        )  # fmt: skip

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all requests, within the provider's concurrency."""
        return await measured(client, self.requests(context.seed), context, observe)


def observe(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Say how long the answers were, and how many differ among those to the same prompt."""
    answered = [exchange for exchange in exchanges if exchange.answered]
    return (_length(answered), _distinct(answered))


def _length(answered: Sequence[Exchange]) -> Observation:
    counts = [count for one in answered if (count := read_usage(one.usage or {}).generated) is not None]
    if not counts:
        return Observation(metric="sample_tokens", value=None, n=0, reason="no complete answer with usage")
    return Observation(metric="sample_tokens", value=sum(counts) / len(counts), n=len(counts))


def _distinct(answered: Sequence[Exchange]) -> Observation:
    answers = Counter(prompt_of(exchange) for exchange in answered)
    texts = [(prompt_of(one), one.choice.content) for one in answered if answers[prompt_of(one)] > 1]
    if not texts:
        return Observation(metric="distinct_answers", value=None, n=0, reason="no prompt was answered more than once")
    k = len(set(texts))
    return Observation(metric="distinct_answers", value=k / len(texts), n=len(texts), k=k)


PROBE = Sample
