"""A suite and its cases: what is asked, how often, what a right answer is, and who may see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from monitor.suites.grade import Function, Grade, Oracle, Seen, joined, seen_of, untold
from monitor.tools.case import parameters_of
from monitor.types import Exchange, Request

Privacy = Literal["keep", "hash", "drop"]
"""What the customer's store keeps of a case: names, words and tags; a keyed hash of them; nothing but the grade."""

PRIVACIES: tuple[Privacy, ...] = ("keep", "hash", "drop")
MAX_REPEATS = 1000
_SAID = frozenset({"temperature", "top_p", "max_tokens"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One question of a suite.

    ``messages`` and ``tools`` have the OpenAI chat shape. ``parameters`` are further fields of the body in the words of
    that protocol; ``max_tokens``, ``temperature`` and ``top_p`` are said in every protocol. All ``oracles`` must say
    yes. ``weight`` is what the case counts in the pass rate; ``family`` names where a generated case came from.
    """

    case_id: str
    messages: tuple[Mapping[str, Any], ...]
    oracles: tuple[Oracle, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1
    weight: float = 1.0
    tags: tuple[str, ...] = ()
    privacy: Privacy = "hash"
    family: str | None = None

    def request(self, prompt_id: str, seed: int) -> Request:
        """Return the request, not streamed."""
        said = self.parameters
        return Request(
            prompt_id=prompt_id, messages=self.messages, tools=self.tools, stream=False, seed=seed,
            max_tokens=int(said["max_tokens"]), temperature=said.get("temperature"), top_p=said.get("top_p"),
            extra={key: value for key, value in said.items() if key not in _SAID},
        )  # fmt: skip

    def grade(
        self, exchange: Exchange, *, golden: tuple[str, ...] = (), functions: Mapping[str, Function] | None = None
    ) -> Grade:
        """Grade an answer. One that did not come, or not whole, cannot be told: availability is another question."""
        if not exchange.answered:
            return untold(exchange.outcome)
        seen = seen_of(exchange, parameters_of(self.tools), golden=golden, functions=functions)
        return joined([_graded(one, seen) for one in self.oracles])

    @property
    def wants_golden(self) -> bool:
        """Whether an oracle compares with golden's answers."""
        return any(one.kind == "golden_relative" for one in self.oracles)

    @property
    def entries(self) -> tuple[str, ...]:
        """Entry points of the Python functions that its oracles name."""
        return tuple(str(getattr(one, "entry", "")) for one in self.oracles if one.kind == "python")


def _graded(oracle: Oracle, seen: Seen) -> Grade:
    """The oracle's grade. What it raises would end a run, and say words of a private case in a log."""
    try:
        return oracle.grade(seen)
    except Exception:  # noqa: BLE001
        return untold("oracle_failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """So many fresh cases of a family in every run, of one level of difficulty."""

    family: str
    n: int
    level: int = 1
    repeats: int = 1
    weight: float = 1.0
    privacy: Privacy = "drop"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Cases under a name. ``sha256`` is that of its canonical form: whoever has the same hash ran the same suite."""

    name: str
    cases: tuple[SuiteCase, ...]
    generated: tuple[Generated, ...] = ()
    sha256: str = ""

    @property
    def mark(self) -> str:
        """The hash as reports show it."""
        return self.sha256[:12]
