"""Does the endpoint read all of a long prompt, and read it twice alike?

Sends: for each of `lengths`, `per_length` prompts of about so many tokens: made-up notes, one of which holds a code,
and a question for that code. Each prompt is sent twice, first to a cold prefix cache, then to a warm one, at
temperature 0, with top-k logprobs where the protocol has words for them, not streamed. Codes stand near the start in
every other prompt, where a context that is cut loses them, and in the middle in the others.
Costs: 8 requests, about 8,000 tokens in, 8 x 12 = 96 tokens out.
What can mislead it: prompts longer than the golden context cannot be scored; an endpoint that keeps no prefix cache
makes the second half a mere repetition; small models miss codes by themselves (the detector asks golden first).
Source: needles and prefix caches, DESIGN section 6. The prompt's name carries what its answer must hold.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.types import Exchange, Request
from probes.ask import ask
from probes.cost import Cost, cost_of
from probes.prompt_pool import SUBJECTS

_OPTIONAL = ("seed", "reasoning_off", "top_logprobs")
_CHARS_PER_TOKEN = 4.9
_NOTES = (
    "In the {} notebook somebody drew {} next to {}.", "A visitor asked the {} guide whether {} is older than {}.",
    "On the {} shelf the book about {} leans on the one about {}.", "The {} talk was about {}, not about {}.",
    "A {} poster shows {} in front of {}.", "For the {} class, {} was explained by means of {}.",
)  # fmt: skip
_WHEN = ("first", "spring", "old", "harbour", "evening", "second", "village", "northern", "public", "blue")
_DEPTHS = (0.05, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Codes in long prompts, asked for twice."""

    kind: ClassVar[str] = "context"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="codes_found", unit="share", better="higher", source="DESIGN section 6",
               definition="Complete answers that hold the code of their prompt / complete answers, k of n."),
    )  # fmt: skip

    lengths: tuple[int, ...] = (500, 1500)
    """Lengths of prompts, tokens of English prose."""
    per_length: int = 2
    """Different prompts of each length; each is sent twice."""
    tokens: int = 12
    """Longest answer, tokens."""
    top_k: int | None = 20
    """Alternatives to ask for at each position; none asks for text only."""

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 100 or len(set(self.lengths)) != len(self.lengths):
            raise ValueError("`lengths` must be different numbers of at least 100 tokens, at least one")
        if min(self.per_length, self.tokens) < 1 or (self.top_k is not None and self.top_k < 1):
            raise ValueError("`per_length`, `tokens` and `top_k` must be at least 1 (`top_k` may be none)")

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests, all cold ones first; `seed` chooses notes and codes."""
        cold = [self._request(seed, length, at) for length in self.lengths for at in range(self.per_length)]
        return tuple(
            Request(
                prompt_id=f"{name}-{state}", messages=({"role": "user", "content": text},), max_tokens=self.tokens,
                temperature=0.0, seed=seed, top_logprobs=self.top_k, stream=False, optional=_OPTIONAL,
            )
            for state in ("cold", "warm")
            for name, text in cold
        )  # fmt: skip

    def _request(self, seed: int, length: int, at: int) -> tuple[str, str]:
        """Return name and text of a prompt. Own notes from the first word on: no two prompts share a prefix."""
        rng = random.Random(f"{seed} {length} {at}")  # noqa: S311  # a choice, not a secret
        code = str(rng.randrange(10_000, 100_000))
        thing = rng.choice(SUBJECTS)
        needle = f"Remember this: the secret code of {thing} is {code}."
        question = f"\n\nWhat is the secret code of {thing}? The secret code of {thing} is"
        room = int(length * _CHARS_PER_TOKEN) - len(needle) - len(question)
        notes = [f"Page {rng.randrange(1_000_000)}.", *_notes(rng, room)]
        # Never first: prompts begin with their own page, or all of them would share the words before the code.
        notes.insert(max(1, int(len(notes) * _DEPTHS[at % len(_DEPTHS)])), needle)
        return f"code-{length}-{at}-{code}", " ".join(notes) + question

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all cold prompts, then all of them again."""
        requests = self.requests(context.seed)
        half = len(requests) // 2
        first = await ask(client, requests[:half], context, limit=context.concurrency)
        second = await ask(client, requests[half:], context, limit=context.concurrency)
        exchanges = first[1] + second[1]
        return ProbeResult(captures=first[0] + second[0], exchanges=exchanges, observations=observe(exchanges))


def _notes(rng: random.Random, chars: int) -> Iterator[str]:
    while chars > 0:
        note = rng.choice(_NOTES).format(rng.choice(_WHEN), *rng.sample(SUBJECTS, 2))
        chars -= len(note) + 1
        yield note


def observe(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Count the answers that hold their code."""
    answered = [one for one in exchanges if one.answered and one.request]
    found = sum(one.request is not None and code_of(one.request) in one.choice.content for one in answered)
    if not answered:
        return (Observation(metric="codes_found", value=None, n=0, reason="no complete answer"),)
    return (Observation(metric="codes_found", value=found / len(answered), n=len(answered), k=found),)


def code_of(request: Request) -> str:
    """Return the code that `request` asks for."""
    return request.prompt_id.split("-")[3]


PROBE = Context
