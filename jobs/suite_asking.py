"""Puts the cases of a run to an endpoint and to golden, and keeps every answer the moment it is there."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jobs.suite_store import Record, SuiteStore
from monitor.codec import encode, plain
from monitor.errors import GoldenError
from monitor.ports import Client
from monitor.suites.case import SuiteCase
from monitor.suites.grade import Function
from monitor.suites.tally import Tally
from monitor.types import Exchange, Request
from monitor.wire.dispatch import decode
from monitor.wire.usage import read_usage
from probes.pool import run_bounded

Asked = Mapping[tuple[str, int], Record]
"""Records of answers by mark of the case and number of the attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """The golden engine as a client, and what exactly answers."""

    client: Client
    digest: str
    concurrency: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One run: who is asked, under which id, and what has been answered already (`answers` and `known` grow).

    ``known`` are golden's answers of all runs, by what was asked.
    """

    store: SuiteStore
    run: str
    seed: int
    client: Client
    concurrency: int
    golden: Golden | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    report: Callable[[str], None] = lambda _: None
    answers: dict[tuple[str, int], Record] = field(default_factory=dict)
    known: dict[str, Record] = field(default_factory=dict)
    goldens: dict[tuple[str, int], Record] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def mark(self, case: SuiteCase) -> str:
        """The name under which a case is kept: it says nothing, and that of a generated case holds for one run."""
        if case.family is not None:
            return f"{case.family}-{self.store.mark(self.run, case.case_id)[:8]}"
        return mark_of(self.store, case)

    def tallies(self, cases: Sequence[SuiteCase]) -> tuple[tuple[Tally, ...], tuple[Tally, ...]]:
        """Return what was right so far, of the endpoint and of golden."""
        return self._tallies(cases, self.answers), self._tallies(cases, self.goldens) if self.golden else ()

    def lacking(self, cases: Sequence[SuiteCase]) -> list[tuple[SuiteCase, int]]:
        """Return cases and numbers of attempts that the endpoint has not answered yet."""
        return [
            (case, attempt) for case in cases for attempt in range(case.repeats)
            if (self.mark(case), attempt) not in self.answers
        ]  # fmt: skip

    def lacking_golden(self, cases: Sequence[SuiteCase]) -> list[tuple[SuiteCase, int]]:
        """Return what golden has to be asked: neither answered in this run, nor known of any run."""
        return [
            (case, attempt) for case in cases for attempt in range(golden_repeats(case))
            if (self.mark(case), attempt) not in self.goldens and self._known(case, attempt) is None
        ]  # fmt: skip

    async def ask(self, cases: Sequence[SuiteCase]) -> None:
        """Ask what is missing of `cases`: golden first, since some oracles compare with it."""
        if self.golden is not None:
            await self._ask_golden(cases, self.golden)
        wanted = self.lacking(cases)
        await run_bounded([partial(self._one, case, attempt) for case, attempt in wanted], limit=self.concurrency)

    async def _one(self, case: SuiteCase, attempt: int) -> None:
        exchange = await _exchange(self.client, self._request(case, attempt))
        kept = await asyncio.to_thread(self._answer, case, attempt, exchange)
        self.store.append([kept])
        self.answers[kept["case"], attempt] = kept

    async def _ask_golden(self, cases: Sequence[SuiteCase], golden: Golden) -> None:
        """Golden's answers, of which those that were ever given to the same request by the same weights are known."""
        for case in cases:
            for attempt in range(golden_repeats(case)):
                known = self._known(case, attempt)
                if known is not None:
                    self._take(case, attempt, known)
        wanted = self.lacking_golden(cases)
        await run_bounded([partial(self._one_golden, *one, golden) for one in wanted], limit=golden.concurrency)

    def _known(self, case: SuiteCase, attempt: int) -> Record | None:
        """Golden's kept answer; None too where its words are needed and were not kept."""
        record = self.known.get(self._asked(case, attempt))
        return None if record is None or (case.wants_golden and "text" not in record) else record

    async def _one_golden(self, case: SuiteCase, attempt: int, golden: Golden) -> None:
        try:
            exchange = await _exchange(golden.client, self._request(case, attempt))
        except GoldenError as error:
            self.report(f"golden does not answer {self.mark(case)}: {type(error).__name__}")
            return
        text = exchange.choice.content
        grade = await asyncio.to_thread(case.grade, exchange, golden=(text,), functions=self.functions)
        asked = self._asked(case, attempt)
        kept: Record = {
            "kind": "golden", "digest": golden.digest, "asked": asked, "passed": grade.passed, "why": grade.why,
            **({"text": text} if case.privacy == "keep" else {}),
        }  # fmt: skip
        self.store.append([kept])
        self.known[asked] = kept
        self._take(case, attempt, {**kept, "text": text})

    def _take(self, case: SuiteCase, attempt: int, record: Record) -> None:
        self.goldens[self.mark(case), attempt] = record
        if "text" in record:
            self.texts.setdefault(self.mark(case), []).append(record["text"])

    def _answer(self, case: SuiteCase, attempt: int, exchange: Exchange) -> Record:
        texts = tuple(self.texts.get(self.mark(case), ()))
        grade = case.grade(exchange, golden=texts, functions=self.functions)
        usage = read_usage(exchange.usage or {})
        return {
            "kind": "answer", "run": self.run, "case": self.mark(case), "attempt": attempt, "passed": grade.passed,
            "why": grade.why, "outcome": exchange.outcome, "tokens_in": usage.input_total,
            "tokens_out": usage.generated, **self._content(case, exchange),
        }  # fmt: skip

    def _content(self, case: SuiteCase, exchange: Exchange) -> Record:
        """What is kept of the words, by class."""
        choice = exchange.choice
        said = {"text": choice.content, "calls": plain(list(choice.tool_calls))}
        if case.privacy == "keep":
            return {"id": case.case_id, **said}
        return {"hash": self.store.mark("answer", encode(said).decode())} if case.privacy == "hash" else {}

    def _request(self, case: SuiteCase, attempt: int) -> Request:
        seed = hashlib.sha256(f"{self.seed} {self.mark(case)} {attempt}".encode()).digest()
        return case.request(f"{self.mark(case)}#{attempt}", int.from_bytes(seed[:4]) >> 1)

    def _asked(self, case: SuiteCase, attempt: int) -> str:
        return self.store.mark("golden", *_identity(case), str(attempt))

    def _tallies(self, cases: Sequence[SuiteCase], answers: Asked) -> tuple[Tally, ...]:
        graded: dict[str, list[bool]] = {}
        for (name, _), one in answers.items():
            graded.setdefault(name, []).extend([] if one["passed"] is None else [one["passed"]])
        made = []
        for case in cases:
            told = graded.get(self.mark(case), [])
            made.append(
                Tally(case=self.mark(case), k=sum(told), n=len(told), weight=case.weight, family=case.family)
            )
        return tuple(made)


def golden_repeats(case: SuiteCase) -> int:
    """How often golden is asked: at temperature 0 its answers to one case are all alike."""
    return case.repeats if case.parameters.get("temperature") != 0 else 1


def mark_of(store: SuiteStore, case: SuiteCase) -> str:
    """Return the name under which a case of a suite's own is kept."""
    return store.mark("case", case.case_id)


def _identity(case: SuiteCase) -> tuple[str, ...]:
    """All that makes the case what it is, so that another question or oracle is never taken for it."""
    oracles: list[Any] = [{"kind": one.kind, **plain(one)} for one in case.oracles]
    asked = [list(case.messages), list(case.tools), dict(case.parameters), oracles]
    return (case.case_id, encode(asked).decode())


async def _exchange(client: Client, request: Request) -> Exchange:
    capture = await client.send(request)
    return await asyncio.to_thread(decode, capture)
