"""One line per endpoint out of the verdicts of all detectors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitor.results import Status, Verdict

NO_HISTORY = "no_history"
"""Cause of a verdict of a detector that looks back, on an endpoint that is too new."""

_SEVERITY: dict[Status, int] = {"pass": 0, "inconclusive": 1, "suspect": 2, "fail": 3}


@dataclass(frozen=True, slots=True)
class Summary:
    """The worst status among the detectors, and the causes that those worst verdicts name.

    *Inconclusive* outranks *pass*: what could not be checked is never reported as fine.
    """

    status: Status
    causes: tuple[str, ...]
    reason: str


def summarise(verdicts: Sequence[Verdict]) -> Summary:
    """Fold the verdicts of one endpoint; without any, nothing is known.

    A detector that compares with the past and has none yet says so in its own verdict; it holds nothing else up.
    """
    if not verdicts:
        return Summary("inconclusive", ("not_run",), "no detector has judged this endpoint yet")
    spoken = counting(verdicts)
    worst = max((verdict.status for verdict in spoken), key=_SEVERITY.__getitem__)
    named = [verdict for verdict in spoken if verdict.status == worst]
    causes = () if worst == "pass" else tuple(_unique(verdict.cause for verdict in named if verdict.cause))
    return Summary(worst, causes, "; ".join(_unique(verdict.reason for verdict in named)))


def counting(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """Those verdicts that say something about an endpoint: all but of detectors that have no past to look at yet."""
    return [verdict for verdict in verdicts if verdict.cause != NO_HISTORY] or verdicts


def _unique(items: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(item for item in items if item is not None))
