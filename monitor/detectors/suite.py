"""Does the endpoint answer a private suite worse than golden, or worse than it did?

Needs: a run of the probe `suite`; golden's answers to the same cases, or an earlier run of the same suite.
Statistic: right answers of the endpoint less those of golden, the mean over cases, with the interval of Agresti and Min
over cases and a one-sided sign-flip test (McNemar's exact test, where each case is asked once).
Decides: *fail* when the loss is certain at `alpha` and the interval lies below `tolerance`, *suspect* when it is
certain but may lie within; the same against the last run that did not fail, of the 16 before (cause `regression`).
*pass* when a loss of `margin` is out of the question; else *inconclusive*, with the smallest loss that would have been
seen with power 0.8.
What can mislead it: oracles that golden passes by chance; few cases; an endpoint that samples otherwise than golden
(say a temperature in the suite); a suite of which the endpoint's provider knows the cases.
Source: docs/suites.md; A. Agresti and Y. Min, Statist. Med. 24 (2005), 729-740.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from monitor.codec import plain
from monitor.evidence import Card, Finding, verdict
from monitor.results import Evidence, Metric, Verdict
from monitor.suites.outcome import Before, Outcome, Terms, outcome
from monitor.suites.tally import Tally, tallies
from monitor.types import Exchange

_PROBES = frozenset({"suite"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteAnswers:
    """Right answers beside golden's."""

    kind: ClassVar[str] = "suite"
    version: ClassVar[int] = 2
    probes: ClassVar[frozenset[str] | None] = _PROBES
    looks_back: ClassVar[int] = 16
    judges_alone: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="suite_difference", unit="share", better="higher", source="docs/suites.md",
               definition="Share of right answers less golden's to the same cases, mean over cases; against the last "
                          "run that did not fail where there is no golden."),
    )  # fmt: skip

    alpha: float = 0.01
    """Chance that a faithful endpoint fails."""
    tolerance: float = 0.02
    """Loss that a faithful engine may show."""
    margin: float = 0.1
    """Loss that must be out of the question for a pass."""

    def __post_init__(self) -> None:
        self._terms()

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the newest run of the probe."""
        card = Card(detector=self.kind, version=self.version, statistic="suite_difference", unit="share")
        runs = [run for run in evidence.runs if run.probe in _PROBES]
        newest = max(runs, key=lambda run: run.started_at).run_id if runs else None
        asked = [one for one in evidence.exchanges if one.run_id == newest]
        own = tallies(asked)
        if newest is None or not own:
            cause, why = ("not_asked", "no run of suite") if newest is None else ("no_answers", "no graded answer")
            return verdict(card, Finding(status="inconclusive", cause=cause, reason=why), evidence, at)
        found = outcome(
            own, evidence.suite_golden, self._terms(), rng=rng, before=_before(evidence, self._terms()),
            untold=_untold(asked, own),
        )  # fmt: skip
        return verdict(card, _finding(found, self._terms()), evidence, at)

    def _terms(self) -> Terms:
        return Terms(alpha=self.alpha, tolerance=self.tolerance, margin=self.margin)


def _untold(asked: Sequence[Exchange], own: Sequence[Tally]) -> dict[str, int]:
    missing = len(asked) - sum(one.n for one in own)
    return {"untold": missing} if missing else {}


def _before(evidence: Evidence, terms: Terms) -> dict[str, Before]:
    """The newest earlier run that was answered and was not worse than the one it was itself compared with.

    From the oldest on: else a loss that stays would be found once only. Golden's answers of then are not kept, so only
    the same cases can be compared.
    """
    known: dict[str, Before] = {}
    for record in evidence.history:
        if record.run.probe not in _PROBES:
            continue
        own = tallies(record.exchanges)
        # Drawn anew for each, so that what is told of one run does not hang on how many there are.
        found = outcome(own, (), terms, rng=np.random.default_rng(0), before=known,
                        untold=_untold(record.exchanges, own))  # fmt: skip
        if found.status not in {"fail", "suspect"} and found.cause != "no_answers":
            known = {"last": Before(run=record.run.run_id, own=own)}
    return known


def _finding(found: Outcome, terms: Terms) -> Finding:
    shown = found.difference or next(iter(found.before.values()), None)
    return Finding(
        status=found.status, cause=found.cause, reason=found.reason, threshold=-terms.tolerance,
        effect=shown.value if shown else None, low=shown.low if shown else None, high=shown.high if shown else None,
        n=shown.n if shown else 0, p_value=shown.p_worse if shown else None, log_e=found.log_e,
        mde=shown.mde if shown else None, details=_details(found),
    )  # fmt: skip


def _details(found: Outcome) -> Mapping[str, Any]:
    return {
        "n_before": len(found.before), "pass_rate": plain(found.rate), "golden": plain(found.golden),
        "weighted": found.weighted,
        "changes": plain(dict(found.before)), "changes_since": dict(found.before_runs),
        "compounding": plain(found.compounding), "untold": dict(found.untold),
        "tries": plain(found.tries), "resampled": plain(found.difference and found.difference.resampled),
    }  # fmt: skip


DETECTOR = SuiteAnswers
