"""Runs of the probe `suite` made by hand: cases with so many right answers on both sides."""

from collections.abc import Sequence
from dataclasses import replace

from monitor.results import Evidence
from monitor.suites.tally import Tally, attempt_name, graded_name
from monitor.types import Choice, Exchange, Request
from tests.detectors.made import endpoint, run_of

RUN = replace(run_of(), probe="suite")


def tally(case: int, k: int, n: int = 2) -> Tally:
    return Tally(case=f"suite/s/{case}", k=k, n=n)


def exchange(case: int, attempt: int, *, passed: bool | None, run_id: str = "r1") -> Exchange:
    name = graded_name(attempt_name(f"suite/s/{case}", attempt), passed)
    return Exchange(
        exchange_id=f"{run_id}-{case}-{attempt}", run_id=run_id, outcome="ok", choices=(Choice(content="x"),),
        request=Request(prompt_id=name, messages=(), max_tokens=1),
    )  # fmt: skip


def suite_evidence(right: Sequence[int] = (2,) * 50 + (0,) * 10, golden: Sequence[int] | None = None) -> Evidence:
    """Evidence of 60 cases asked twice; ``right[i]`` of the answers to case i are right, golden's unless given."""
    asked = tuple(
        exchange(case, attempt, passed=attempt < k) for case, k in enumerate(right) for attempt in range(2)
    )  # fmt: skip
    known = right if golden is None else golden
    return Evidence(
        endpoint=endpoint(), runs=(RUN,), exchanges=asked,
        suite_golden=tuple(tally(case, k) for case, k in enumerate(known)),
    )  # fmt: skip
