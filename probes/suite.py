"""Does the endpoint answer the cases of a private suite rightly?

Sends: the cases of `file`, each as often as it says; or, without a file, `n` fresh instances of each of five easy
families (copying, choosing, tables, patterns, arithmetic), whose words follow from the run's seed and the secret.
Nothing is streamed.
Costs: without a file 25 requests, about 100 tokens in each, at most 750 tokens out; with one what the file says.
What can mislead it: cases whose oracle is wrong (the detector holds answers against golden's, which fail then too);
oracles that need golden's answers are not graded here but by `weighmaster suite run`, and the customer's own Python
only with `allow_python`, in the process of the agent and in that of the judge.
Neither words nor answers leave this probe, whatever the privacy class of a case: only grades.
Source: docs/suites.md.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from monitor.errors import ConfigError, UsageError
from monitor.plurals import plural
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.suites.case import Generated, Suite, SuiteCase
from monitor.suites.families.catalogue import instances
from monitor.suites.grade import Function
from monitor.suites.reading import named, read_suite
from monitor.suites.tally import attempt_name, graded_name, tallies, totals
from monitor.types import Capture, Exchange, Request
from probes.ask import ask
from probes.cost import Cost, cost_of
from probes.suite_functions import functions

_EASY = {"copying": 1, "choosing": 1, "tables": 1, "patterns": 1, "arithmetic": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateSuite:
    """Graded cases of a customer's own."""

    kind: ClassVar[str] = "suite"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="suite_pass_rate", unit="share", better="higher", source="docs/suites.md",
               definition="Right answers / answers that could be graded, k of n."),
    )  # fmt: skip

    file: str | None = None
    """Path of a suite, JSON lines or YAML; none: generated cases."""
    n: int = 5
    """Instances of each family, without a file."""
    secret_file: str | None = None
    """Path of a file whose content makes generated cases unforeseeable; none: they follow from the seed alone."""

    allow_python: bool = False
    """Run the Python functions that oracles of `file` name: your own code, found from where the service was started."""

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError("`n` must be at least 1")
        try:
            self.suite()
            self._secret()
            self._functions()
        except UsageError as error:
            raise ValueError(f"`file`, `secret_file` or `allow_python`: {error}") from None

    def suite(self) -> Suite:
        """Return the suite."""
        if self.file is None:
            families = tuple(Generated(family=name, n=self.n, level=level) for name, level in _EASY.items())
            return named("generated", (), families)
        return _read(self.file, _bytes(self.file))

    def cases(self, seed: int) -> dict[str, SuiteCase]:
        """Return what one run asks, by the name of the request."""
        suite = self.suite()
        fresh = instances(suite.generated, self._secret(), str(seed))
        found = {}
        for case in (*suite.cases, *fresh):
            mark = _mark(suite, case, seed)
            for attempt in range(case.repeats):
                found[attempt_name(mark, attempt, case.weight)] = case
        return found

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests."""
        return _requests(self.cases(seed), seed)

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask all cases, within the provider's concurrency, and grade."""
        # Read once: the file may be another one when the answers are there.
        cases, own = self.cases(context.seed), self._functions()
        requests = _requests(cases, context.seed)
        captures, exchanges = await ask(client, requests, context, limit=context.concurrency)
        return await asyncio.to_thread(self._graded, captures, exchanges, cases, own)

    def _graded(
        self, captures: Sequence[Capture], exchanges: Sequence[Exchange], cases: Mapping[str, SuiteCase],
        own: Mapping[str, Function],
    ) -> ProbeResult:  # fmt: skip
        kept = [
            _bare(capture, exchange, cases[exchange.request.prompt_id], own)
            for capture, exchange in zip(captures, exchanges, strict=True) if exchange.request is not None
        ]  # fmt: skip
        shown = tuple(exchange for _, exchange in kept)
        counted = totals(tallies(shown))
        reason = None if counted["n"] else "no answer could be graded"
        rate = counted["k"] / counted["n"] if counted["n"] else None
        passed = Observation(
            metric="suite_pass_rate", value=rate, n=counted["n"], k=counted["k"] if counted["n"] else None,
            reason=reason,
        )  # fmt: skip
        return ProbeResult(captures=tuple(one for one, _ in kept), exchanges=shown, observations=(passed,))

    def _functions(self) -> Mapping[str, Function]:
        return functions(entry for case in self.suite().cases for entry in case.entries) if self.allow_python else {}

    def _secret(self) -> bytes:
        return b"" if self.secret_file is None else _bytes(self.secret_file)


def _bare(
    capture: Capture, exchange: Exchange, case: SuiteCase, own: Mapping[str, Function]
) -> tuple[Capture, Exchange]:
    """Capture and exchange without words, and with the grade in the name of the request."""
    request = exchange.request
    assert request is not None  # noqa: S101  # it was just asked
    name = graded_name(request.prompt_id, case.grade(exchange, functions=own).passed)
    bare = Request(prompt_id=name, messages=(), max_tokens=request.max_tokens, stream=False)
    return (
        replace(capture, request=bare, sent=b"", reads=(), headers=(), error=None),
        replace(exchange, request=bare, choices=(), error=None, sent_sha256=None, request_id=None),
    )


def _requests(cases: Mapping[str, SuiteCase], seed: int) -> tuple[Request, ...]:
    return tuple(case.request(name, _seed(name, seed)) for name, case in cases.items())


def _mark(suite: Suite, case: SuiteCase, seed: int) -> str:
    """The case under a name that says nothing; that of a generated one holds for one run only."""
    run = str(seed) if case.family else ""
    text = f"{suite.sha256}\0{case.case_id}\0{run}"
    return f"suite/{suite.mark}/{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _seed(name: str, seed: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{name} {seed}".encode()).digest()[:4]) >> 1


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


@lru_cache(maxsize=8)
def _read(path: str, data: bytes) -> Suite:
    """The suite. Its mistakes may hold words of private cases, and what is raised here goes into logs."""
    try:
        return read_suite(data.decode("utf-8-sig"), path, name=Path(path).stem)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except ConfigError as error:
        n = plural(len(error.problems), "mistake")
        raise UsageError(f"{path}: {n}; `weighmaster suite validate {path}` tells them") from None
    except UsageError:
        raise UsageError(f"{path}: no suite; `weighmaster suite validate {path}` says why") from None


PROBE = PrivateSuite
