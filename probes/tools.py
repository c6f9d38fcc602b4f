"""Does the endpoint call tools when it should, as its schemas say, and in a form that programs can read?

Sends: `n` cases of the built-in suite (153, own wording) or of your own file, each streamed and not streamed, with
tools, at temperature 1. Cases are dealt by seed in turn from 17 groups: single, several tools, parallel, nested,
without arguments, enums, Unicode names and keys, escapes, large schemas, no call wanted, later turns, ids of other
makers, tool_choice auto, none, required and named, parallel calls off.
Costs: 176 requests, about 220 tokens in each, at most 176 x 256 = 45,000 tokens out, usually a fifth of that.
What can mislead it: a small model that cannot call tools by itself (the detector holds it against golden's own rate);
`tokens` too small for a model that thinks first (cut answers are counted apart); labels are one opinion of what a case
wants, golden's trigger probabilities are better; protocols other than openai_chat cannot say tool_choice, and those
cases are not sent.
Source: metrics of K2VV, MiniMax, OpenRouter and others with our own layers (docs/tools.md); n for B19: 0.1% against 3%
schema failures with power 0.9 at alpha 0.001 takes 176 answers.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import orjson

from monitor.errors import UsageError
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.tools.all_measures import METRICS, all_observed
from monitor.tools.case import FORMS, Case, case_id_of
from monitor.tools.graded import grade
from monitor.types import Exchange, Request
from probes.ask import measured
from probes.cost import CHARS_PER_TOKEN, TEMPLATE_TOKENS, Cost
from probes.tool_suite import built_in, chosen, from_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Cases with tools, in both forms."""

    kind: ClassVar[str] = "tools"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = METRICS

    n: int | None = 88
    """Cases to ask, dealt by seed from all groups; none: all of the suite."""
    suite: str | None = None
    """Path of your own cases, JSON lines (also K2VV's and MiniMax's); none: the built-in suite."""
    tokens: int = 256
    """Longest answer, tokens, where a case does not say it."""
    temperature: float | None = 1.0
    """Temperature, where a case does not say it; none: the endpoint's own. Golden's decisions are drawn at 1."""
    id_pattern: str | None = None
    """Regular expression that all ids of calls must match, such as `functions\\.\\w+:\\d+`; none: any id."""

    def __post_init__(self) -> None:
        if self.tokens < 1 or (self.n is not None and self.n < 1):
            raise ValueError("`tokens` and `n` must be at least 1 (`n` may be none)")
        try:
            re.compile(self.id_pattern or "")
            self.cases(0)
        except re.error as error:
            raise ValueError(f"`id_pattern` is no regular expression: {error}") from None
        except UsageError as error:
            raise ValueError(f"`suite`: {error}") from None

    def cases(self, seed: int) -> tuple[Case, ...]:
        """Return the cases of one run; `seed` chooses them."""
        return chosen(built_in() if self.suite is None else from_file(self.suite), self.n, seed)

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests, both forms of a case one after the other and with the same seed."""
        draws = random.Random(f"{seed} tools")  # noqa: S311  # a choice, not a secret
        seeds = {case.case_id: draws.getrandbits(31) for case in self.cases(seed)}
        return tuple(
            case.request(form, max_tokens=self.tokens, temperature=self.temperature, seed=seeds[case.case_id])
            for case in self.cases(seed) for form in FORMS
        )  # fmt: skip

    def cost(self) -> Cost:
        """What one run costs at most; tools are part of the prompt."""
        asked = self.requests(0)
        chars = sum(len(orjson.dumps([one.messages, one.tools])) for one in asked)
        tokens_in = chars // CHARS_PER_TOKEN + TEMPLATE_TOKENS * len(asked)
        return Cost(len(asked), tokens_in, sum(one.max_tokens for one in asked))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all cases, within the provider's concurrency."""
        known = {case.case_id: case for case in self.cases(context.seed)}
        return await measured(
            client, self.requests(context.seed), context, lambda answers: self._observed(answers, known)
        )

    def _observed(self, exchanges: Sequence[Exchange], known: dict[str, Case]) -> tuple[Observation, ...]:
        cases = [known.get(case_id_of(one.request)) if one.request else None for one in exchanges]
        graded = [made for one, case in zip(exchanges, cases, strict=True) if (made := grade(one, case)) is not None]
        return all_observed(graded, id_pattern=self.id_pattern)


PROBE = Tools
