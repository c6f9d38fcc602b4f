"""``weighmaster suite run``: puts a suite to an endpoint, beside golden, and judges."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from jobs.clock import SystemClock
from jobs.endpoints_now import INTERRUPTED, chosen, each, exit_code, interruptible, scorers
from jobs.event_loop import run as run_loop
from jobs.golden_calls import CallingClient
from jobs.suite_asking import Asking, Golden, golden_repeats
from jobs.suite_cost import estimate, words
from jobs.suite_files import find
from jobs.suite_past import FAILED, before, done_record, is_sound, results_of
from jobs.suite_progress import telling
from jobs.suite_report import show_result, write_files
from jobs.suite_shown import Shown
from jobs.suite_store import Record, SuiteStore
from jobs.suite_terms import Wanted, begun, cases_of
from jobs.terminal import show_document
from monitor.config_types import Config, EndpointConfig
from monitor.errors import UsageError
from monitor.ports import Client, Scorer
from monitor.suites.case import SuiteCase
from monitor.suites.grade import Function
from monitor.suites.outcome import Outcome, outcome, settled
from probes.suite_functions import functions
from reference.tool_parsers.families import family_of

BATCH = 10
"""Cases asked between two looks."""
UNREACHED = frozenset({"connect_error", "address_refused", "redirect", "timeout_first_byte", "tls_trust",
                       "tls_dropped", "auth_error", "quota_exhausted"})  # fmt: skip
"""Outcomes of requests that reach no model. Where all of the first look end so, the rest is not asked."""


def run(
    config: Config, suite: str, pattern: str, wanted: Wanted, *, folder: Path, customer: str, key: str, as_json: bool
) -> int:
    """Run a suite on one endpoint; return the exit code (DESIGN section 7).

    What was answered stays when this ends early, and the same command goes on there.
    """
    console = Console(stderr=True, highlight=False)
    entries = chosen(config, [pattern])
    if len(entries) != 1:
        raise UsageError(f"{pattern} names {len(entries)} endpoints; a suite is run on one at a time")
    with ExitStack() as stack:
        store = stack.enter_context(SuiteStore.opened(folder, customer, key, making=not wanted.dry))
        one = _Run(config=config, entry=entries[0], store=store, name=suite, wanted=wanted, console=console)
        if wanted.dry:
            return one.show_cost(as_json=as_json)
        try:
            stack.enter_context(interruptible())
            with_golden = entries if wanted.with_golden else []
            golden = stack.enter_context(scorers(config, with_golden, console))
            result = one.ask(next(iter(golden.values()), None))
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on from here", markup=False, soft_wrap=True)
            return INTERRUPTED
        write_files(result, wanted.junit, wanted.markdown)
        show_result(result, as_json=as_json)
        return exit_code([result.outcome.status])


class _Run:
    """One run, begun or gone on with."""

    def __init__(
        self, *, config: Config, entry: EndpointConfig, store: SuiteStore, name: str, wanted: Wanted, console: Console
    ) -> None:  # fmt: skip
        self._config, self._entry, self._store, self._wanted, self._console = config, entry, store, wanted, console
        self._suite = find(store, name, keeping=not wanted.dry)
        self._run, self._resumed = begun(store, entry.endpoint, self._suite, wanted, SystemClock().now())
        self._cases = cases_of(store, self._suite, self._run, wanted)
        self._functions = allowed_functions(self._cases, allowed=wanted.allow_python)

    def show_cost(self, *, as_json: bool) -> int:
        """Print what would be asked; nothing is sent or kept."""
        endpoint = self._entry.endpoint
        with_golden = self._wanted.with_golden and endpoint.reference is not None
        asking, terms = self._asking(_Nobody(), None), self._wanted.terms
        cost = estimate(asking, self._cases, endpoint, terms, with_golden=with_golden)
        if as_json:
            show_document({**cost, "suite": self._suite.name, "hash": self._suite.mark})
        else:
            print(f"{self._suite.name} ({self._suite.mark}) on {words(cost)}")  # noqa: T201  # the document
        return 0

    def ask(self, scorer: Scorer | None) -> Shown:
        """Ask, judge and keep the result."""
        if not self._resumed:
            self._store.append([self._run])
        self._tell("going on with" if self._resumed else "running")

        async def measure(entry: EndpointConfig, client: Client) -> Asking:
            asking = self._asking(client, golden_of(scorer, entry))
            async with AsyncExitStack() as stack:
                if asking.golden is not None:
                    stack.push_async_callback(asking.golden.client.aclose)
                await stack.enter_async_context(telling(self._line, partial(self._counts, asking), SystemClock()))
                await self._batches(asking)
            return asking

        (asking,) = run_loop(each([self._entry], measure))
        return self._finished(asking)

    async def _batches(self, asking: Asking) -> None:
        for start in range(0, len(self._cases), BATCH):
            await asking.ask(self._cases[start : start + BATCH])
            if all(one["outcome"] in UNREACHED for one in asking.answers.values()):
                self._tell(f"no request reaches the model, the rest is not asked: {start + BATCH} cases into")
                return
            if self._wanted.terms.looks and settled(*asking.tallies(self._cases), self._wanted.terms):
                return

    def _counts(self, asking: Asking) -> str:
        of = sum(golden_repeats(one) for one in self._cases)
        golden = "" if asking.golden is None else f"golden {len(asking.goldens)} of {of} answers, "
        answers = f"{len(asking.answers)} of {sum(one.repeats for one in self._cases)}"
        return f"{self._entry.endpoint.name}: {golden}endpoint {answers}"

    def _finished(self, asking: Asking) -> Shown:
        own, golden = asking.tallies(self._cases)
        past = before(self._store, self._run)
        untold: dict[str, int] = {}
        for record in asking.answers.values():
            if record["passed"] is None:
                untold[str(record["why"])] = untold.get(str(record["why"]), 0) + 1
        seed = int.from_bytes(hashlib.sha256(self._run["run"].encode()).digest()[:8])
        found: Outcome = outcome(
            [one for one in own if one.n], golden, self._wanted.terms, rng=np.random.default_rng(seed), untold=untold,
            before=past,
        )  # fmt: skip
        digest = asking.golden.digest if asking.golden else None
        done = done_record(self._run, found, own, golden, digest)
        self._store.append([done, *self._pinned(found)])
        return results_of(self._store, self._run, done)

    def _pinned(self, found: Outcome) -> list[Record]:
        """The record that makes this run the baseline, where that is wanted: not of a run that failed, by itself."""
        if not self._wanted.pin:
            return []
        run = self._run["run"]
        if not is_sound(found.status, found.cause):
            why = "it failed" if found.status in FAILED else "its answers did not come"
            self._line(f"not pinned, since {why}; `weighmaster suite results --run {run[:8]} --pin` accepts it")
            return []
        return [{"kind": "pin", "run": run, "key": self._run["key"]}]

    def _asking(self, client: Client, golden: Golden | None) -> Asking:
        run = self._run["run"]
        answers = {(one["case"], one["attempt"]): one for one in self._store.of("answer") if one["run"] == run}
        # A dry run has not loaded golden: it takes what was kept for its own.
        known = {one["asked"]: one for one in self._store.of("golden")
                 if self._wanted.dry or (golden and one["digest"] == golden.digest)}  # fmt: skip
        return Asking(
            store=self._store, run=run, seed=self._run["seed"], client=client, golden=golden, answers=answers,
            known=known, concurrency=self._config.agent.concurrency, functions=self._functions,
            report=self._line,
        )  # fmt: skip

    def _tell(self, what: str) -> None:
        self._line(f"{self._entry.endpoint.name}: {what} suite {self._suite.mark}")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


class _Nobody:
    """The client of a dry run."""

    async def send(self, _request: Any) -> Any:
        raise AssertionError("a dry run sends nothing")

    async def aclose(self) -> None:
        return


def golden_of(scorer: Scorer | None, entry: EndpointConfig) -> Golden | None:
    """Return golden as somebody who answers; None where there is none, or it is a recording of other questions."""
    send = getattr(scorer, "send", None)
    if scorer is None or send is None:
        return None
    client: Client = scorer  # type: ignore[assignment]  # it has send and aclose
    family = family_of(entry.endpoint.reference or "") or family_of(entry.endpoint.model)
    return Golden(client=CallingClient(client, family) if family else client, digest=scorer.fingerprint.digest)


def allowed_functions(cases: Sequence[SuiteCase], *, allowed: bool) -> Mapping[str, Function]:
    """Return the Python functions that oracles name, imported only where the user allowed it.

    Raises
    ------
    UsageError
        When a suite names one and that is not allowed, or it cannot be imported.
    """
    entries = sorted({entry for case in cases for entry in case.entries})
    if entries and not allowed:
        raise UsageError(f"the suite wants to run {', '.join(entries)}; allow your own code with --allow-python")
    return functions(entries)
