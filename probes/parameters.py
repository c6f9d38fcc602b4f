"""What does the endpoint do with each parameter?

Sends: for every feature the fewest requests that show it at work, with a control where the answer might look so by
itself: `max_tokens`, `stop`, `n`, `seed`, temperature (low and high), `top_p`, logprobs, `response_format` (any JSON
object, and a schema), reasoning effort, `tool_choice` (none, required, named), `parallel_tool_calls`, and a word at the
head of a long prompt. Model names and usage are read off all answers. Not streamed, under the names that OpenAI gives.
Then `series` prompts each with a stop text, with two draws at `hot`, and at low and at high effort: so many it takes to
compare with golden at alpha 0.001 (detector `faults`: 12 find what shows on 90% of the prompts).
For each of the `fixed` parameters, which the model's vendor lets nobody change, its value and another one.
Costs: 96 requests, about 5,000 tokens in and at most 17,600 out, of which 12,300 are for effort: models that do not
think give a tenth of that.
What can mislead it: models that do not do as they are told (controls make most of that `unknown`); endpoints that draw
at temperature 0 by themselves, as busy batches do; reasoning that eats the cap.
Source: behaviour and not acceptance, since verifiers that look at the status call an ignored parameter supported.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, ClassVar

from monitor import fixed_values
from monitor.capabilities import KEPT, capabilities, kept
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.types import Exchange, Request
from probes.ask import measured
from probes.cost import Cost, cost_of
from probes.prompt_pool import SUBJECTS

_OPTIONAL = ("seed", "reasoning_off")
_STORY = "Write a story about a lighthouse keeper who finds something odd on the beach."
_COUNT = "Write the numbers from 1 to 12 in digits, separated by commas, and nothing else."
_THINK = (
    "How many squares of any size does a chessboard of 8 by 8 fields have?",
    "A train leaves at 9:40 and takes 2 hours and 35 minutes with a stop of 12 minutes. When does it arrive?",
)
_OBJECT = {
    "type": "object",
    "properties": {"mass_in_grams": {"type": "integer"}, "kind": {"type": "string", "enum": ["solid", "liquid"]}},
    "required": ["mass_in_grams", "kind"],
    "additionalProperties": False,
}
_FORMAT = {"type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": _OBJECT}}


def _tool(name: str, about: str) -> Mapping[str, Any]:
    town = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": town}}


_TOOLS = (
    _tool("current_weather", "Weather in a town right now"), _tool("population", "How many people live in a town"),
)  # fmt: skip
_ONE, _TWO = "What is the weather in Bergen right now?", "What is the weather in Bergen and in Porto right now?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Each parameter at work."""

    kind: ClassVar[str] = "parameters"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (KEPT, *fixed_values.METRICS)

    tokens: int = 48
    """Longest answer of most requests, tokens."""
    thinking_tokens: int = 512
    """Longest answer of the requests that are about reasoning, tokens."""
    context_tokens: int = 2000
    """Length of the long prompt, tokens of English prose."""
    hot: float = 1.5
    """Temperature at which answers must differ."""
    series: int = 12
    """Prompts for each of three comparisons with golden (5 requests per prompt); 0: none."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Values that the vendor has fixed, by their names in a request: `{temperature: 1.0, top_p: 0.95, n: 1}`."""

    def __post_init__(self) -> None:
        if min(self.tokens, self.thinking_tokens) < 16 or self.context_tokens < 100:
            raise ValueError("`tokens` and `thinking_tokens` must be at least 16, `context_tokens` at least 100")
        if not 1 <= self.hot <= 2:
            raise ValueError("`hot` must lie between 1 and 2")
        if not 0 <= self.series <= len(SUBJECTS):
            raise ValueError(f"`series` must lie between 0 and {len(SUBJECTS)}")
        if "max_tokens" in self.fixed or not all(map(isfinite, self.fixed.values())):
            raise ValueError("`fixed` takes numbers, and not `max_tokens`, which every request says")

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests; `seed` chooses seeds and the long prompt."""
        rng = random.Random(f"parameters {seed}")  # noqa: S311  # a choice, not a secret
        own = (*self._cutting(), *self._drawing(rng), *self._formats(), *self._calling(), self._long(rng))
        return (*own, *self._series(rng), *self._fixed())

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all, within the provider's concurrency."""
        return await measured(client, self.requests(context.seed), context, observe)

    def _ask(self, name: str, text: str, **more: Any) -> Request:
        given: dict[str, Any] = {"max_tokens": self.tokens, "temperature": 0.0, "reasoning_off": True, **more}
        return Request(
            prompt_id=name, messages=({"role": "user", "content": text},), stream=False, optional=_OPTIONAL, **given
        )

    def _cutting(self) -> Iterator[Request]:
        for at in range(2):
            yield self._ask(f"max_tokens/cap/{at}", f"{_STORY} Begin with chapter {at + 1}.", max_tokens=16)
        yield self._ask("stop/control/0", _COUNT)
        yield self._ask("stop/test/0", _COUNT, extra={"stop": ["9"]})
        yield self._ask("n/test/0", _STORY, max_tokens=16, temperature=1.0, extra={"n": 2})

    def _drawing(self, rng: random.Random) -> Iterator[Request]:
        first, *others = rng.sample(range(1, 2**31), 8)
        for at in range(2):
            yield self._ask(f"seed/same/{at}", _STORY, temperature=1.0, seed=first)
        yield self._ask("seed/other/0", _STORY, temperature=1.0, seed=others[0])
        for at in range(3):
            yield self._ask(f"temperature/cold/{at}", _STORY)
            yield self._ask(f"temperature/hot/{at}", _STORY, temperature=self.hot, seed=others[1 + at])
            yield self._ask(f"top_p/control/{at}", _STORY, temperature=self.hot, seed=others[4 + at])
            yield self._ask(f"top_p/test/{at}", _STORY, temperature=self.hot, top_p=0.001, seed=others[4 + at])

    def _formats(self) -> Iterator[Request]:
        yield self._ask("logprobs/test/0", _STORY, max_tokens=16, top_logprobs=5)
        plain = "Say in a sentence what a kilogram of butter weighs, and what JSON is."
        yield self._ask("json_object/control/0", plain)
        yield self._ask(
            "json_object/test/0", plain, max_tokens=2 * self.tokens, extra={"response_format": {"type": "json_object"}}
        )
        described = "Describe a glass of water."
        yield self._ask(
            "json_schema/test/0", described, max_tokens=2 * self.tokens, extra={"response_format": _FORMAT}
        )
        for level in ("low", "high"):
            for at, text in enumerate(_THINK):
                yield self._ask(
                    f"reasoning_effort/{level}/{at}", text, max_tokens=self.thinking_tokens, reasoning_off=False,
                    extra={"reasoning_effort": level},
                )  # fmt: skip

    def _calling(self) -> Iterator[Request]:
        named = {"type": "function", "function": {"name": "population"}}
        yield self._ask("tool_choice_none/test/0", _ONE, tools=_TOOLS, extra={"tool_choice": "none"})
        yield self._ask("tool_choice_required/test/0", "Say hello.", tools=_TOOLS, extra={"tool_choice": "required"})
        yield self._ask("tool_choice_named/test/0", _ONE, tools=_TOOLS, extra={"tool_choice": named})
        for at in range(2):
            yield self._ask(f"parallel_tool_calls/control/{at}", f"{_TWO} ({at})", tools=_TOOLS)
            only = {"parallel_tool_calls": False}
            yield self._ask(f"parallel_tool_calls/test/{at}", f"{_TWO} ({at})", tools=_TOOLS, extra=only)

    def _series(self, rng: random.Random) -> Iterator[Request]:
        """Many prompts per parameter: what one prompt shows, a model may have done by itself."""
        for at, subject in enumerate(rng.sample(SUBJECTS, self.series)):
            first = rng.randrange(20, 900)
            count = f"Write the numbers from {first} to {first + 11} in digits, separated by commas, and nothing else."
            yield self._ask(f"series/stop/{at}", count, extra={"stop": [str(first + 4)]})
            for draw in range(2):
                text = f"Write a story about {subject}."
                yield self._ask(
                    f"series/hot/{at}-{draw}", text, temperature=self.hot, seed=rng.randrange(1, 2**31)
                )
            sum_ = f"How much is {first} times {rng.randrange(12, 99)}, less {rng.randrange(100, 999)}?"
            for level in ("low", "high"):
                yield self._ask(
                    f"series/effort/{at}-{level}", sum_, max_tokens=self.thinking_tokens, reasoning_off=False,
                    extra={"reasoning_effort": level},
                )  # fmt: skip

    def _fixed(self) -> Iterator[Request]:
        """Requests that say one parameter and nothing else: another fixed one said wrongly would be refused too."""
        for name, value in self.fixed.items():
            for variant, said in (("default", value), ("other", fixed_values.another(name, value))):
                own = name in {"temperature", "top_p"}
                given: dict[str, Any] = {"temperature": None, "reasoning_off": False, "max_tokens": 16}
                given |= {name: said} if own else {"extra": {name: int(said) if said == int(said) else said}}
                yield self._ask(f"{fixed_values.FEATURE}/{variant}/{name}", "Say hello in one word.", **given)

    def _long(self, rng: random.Random) -> Request:
        code = str(rng.randrange(10_000, 100_000))
        lines = [f"The password is {code}. Remember it."]
        while sum(map(len, lines)) < 4.9 * self.context_tokens:
            first, second = rng.sample(SUBJECTS, 2)
            lines.append(f"On page {rng.randrange(10_000)} somebody wrote about {first} and {second}.")
        text = " ".join([*lines, "What is the password? Answer with the number alone."])
        return self._ask(f"context/test/{code}", text)


def observe(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Count the features that do what they say, and the fixed parameters that are held."""
    fixed = fixed_values.observed(exchanges)
    k, n = kept(capabilities(exchanges))
    if not n:
        return (Observation(metric=KEPT.name, value=None, n=0, reason="no feature could be told"), *fixed)
    return (Observation(metric=KEPT.name, value=k / n, n=n, k=k), *fixed)


PROBE = Parameters
