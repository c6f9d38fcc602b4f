"""Which token does the endpoint begin its answers with, where golden weights are nearly undecided?

Sends: one request per border prompt at temperature 0 for `tokens` tokens, not streamed and without logprobs. Border
prompts are mined for a model (`weighmaster reference border`): faithful engines agree on the first token of the answer,
degraded weights begin otherwise. Without mined ones, `n` prompts of the pool are asked, which tell less.
Costs: 40 requests, about 40 tokens in and 1 token out each.
What can mislead it: caches of answers; an endpoint that forces longer answers (then raise `tokens`; only the first is
judged); prompts mined for other weights or another chat template.
Source: border inputs of B3IT (arXiv 2602.11083), here chosen offline from golden logits.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.types import Exchange, Request
from probes.ask import measured
from probes.cost import Cost, cost_of
from probes.prompt_pool import SUBJECTS, TASKS, pool_prompts
from probes.prompts import PROMPTS, Conversation

_ALL = len(SUBJECTS) * len(TASKS)
_SEED = 40
"""Chooses the prompts that are asked when none are given: always the same, since their answers are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """First tokens of answers to border prompts."""

    kind: ClassVar[str] = "border"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="first_token_share", unit="share", better="higher", source="DESIGN section 5",
               definition="Complete answers that begin with text / requests, k of n."),
    )  # fmt: skip

    prompts: tuple[str, ...] = ()
    """Names of prompts of the pool (`pool-17`) or the fixed set (`river`), or your own texts; none: `n` of the pool."""
    n: int = 40
    """Prompts to ask where none are given."""
    tokens: int = 1
    """Tokens to ask for in each answer."""

    def __post_init__(self) -> None:
        if self.tokens < 1 or not 0 < self.n <= _ALL:
            raise ValueError(f"`tokens` must be at least 1, `n` between 1 and {_ALL}")
        if len(set(self.prompts)) < len(self.prompts) or not all(text.strip() for text in self.prompts):
            raise ValueError("`prompts` must be different and not empty")

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests. They are the same in every run; `seed` only goes into the request's own seed."""
        return tuple(
            Request(
                prompt_id=name, messages=messages, max_tokens=self.tokens, temperature=0.0, seed=seed, stream=False
            )
            for name, messages in self._asked().items()
        )

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all prompts, within the provider's concurrency."""
        return await measured(client, self.requests(context.seed), context, observe)

    def _asked(self) -> dict[str, Conversation]:
        if not self.prompts:
            return pool_prompts(self.n, _SEED)
        known = {**PROMPTS, **pool_prompts(_ALL, 0)}
        return dict(_prompt(text, known) for text in self.prompts)


def _prompt(text: str, known: dict[str, Conversation]) -> tuple[str, Conversation]:
    """A known prompt by its name; any other text is the prompt, named by its hash."""
    if text in known:
        return text, known[text]
    return f"text-{hashlib.sha256(text.encode()).hexdigest()[:12]}", ({"role": "user", "content": text},)


def observe(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Count the answers that begin with something."""
    begun = sum(exchange.answered and bool(exchange.choice.content) for exchange in exchanges)
    if not exchanges:
        return (Observation(metric="first_token_share", value=None, n=0, reason="nothing was asked"),)
    return (Observation(metric="first_token_share", value=begun / len(exchanges), n=len(exchanges), k=begun),)


PROBE = Border
