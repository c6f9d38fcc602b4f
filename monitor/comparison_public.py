"""What of an endpoint the public may see: verdicts on private suites are the customer's own."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.comparison_facts import Facts
from monitor.results import Verdict

PRIVATE = frozenset({"suite"})
"""Detectors whose verdicts nobody but the operator sees."""


def public_verdicts(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts without those on private suites."""
    return tuple(one for one in verdicts if one.detector not in PRIVATE)


def public_facts(facts: Facts) -> Facts:
    """Return `facts` without verdicts on private suites, their past and their incidents."""
    return replace(
        facts, verdicts=public_verdicts(facts.verdicts),
        past={name: told for name, told in facts.past.items() if name not in PRIVATE},
        incidents=tuple(one for one in facts.incidents if one.detector not in PRIVATE and one.topic != "suite"),
    )  # fmt: skip
