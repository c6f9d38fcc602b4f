"""The numbers of MiniMax-AI's Provider-Verifier, as it computes them, to compare with what it published.

Its match rate divides by all labelled rows although rows that another check takes never enter the matrix: with 100
labels of which one is never scored, no endpoint can exceed 99%. `ceiling` says so for any run.
Source: its metrics at the state of 2026, read and recomputed from 30 published loops (tests/golden/tools).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.results import Metric, Observation
from monitor.tools.graded import Graded
from monitor.tools.measures import Confusion, confusion, ratio

LANGUAGE_CHECK = "contains_russian_characters_unicode"
"""The name of their check in a row of a suite."""

_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_SOURCE = "MiniMax-AI/MiniMax-Provider-Verifier"

METRICS: tuple[Metric, ...] = (
    Metric(name="minimax_query_success_rate", unit="share", better="higher", source=_SOURCE,
           definition="Complete answers / attempts (documented per query, computed per attempt)."),
    Metric(name="minimax_finish_tool_calls_rate", unit="share", better="neither", source=_SOURCE,
           definition="Answers that finish as tool_calls / requests."),
    Metric(name="minimax_tool_calls_match_rate", unit="share", better="higher", source=_SOURCE,
           definition="(TP + TN) / labelled rows, also those that are never scored."),
    Metric(name="minimax_schema_accuracy", unit="share", better="higher", source=_SOURCE,
           definition="True positives with valid calls only / true positives."),
    Metric(name="minimax_only_reasoning_rate", unit="share", better="lower", source=_SOURCE,
           definition="Answers of reasoning alone / answers."),
    Metric(name="minimax_language_following_rate", unit="share", better="higher", source=_SOURCE,
           definition="Answers without a letter of U+0400 to U+04FF / answers to rows with that check."),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimaxCounts:
    """The counts of one loop.

    ``matrix`` holds scored rows, ``labelled`` all rows with a label, ``language_checked`` those whose answer must be
    without Cyrillic letters.
    """

    attempts: int
    successes: int
    labelled: int
    matrix: Confusion
    valid: int
    only_reasoning: int
    language_checked: int = 0
    language_valid: int = 0

    @property
    def ceiling(self) -> float | None:
        """The highest match rate that any endpoint could have reached here."""
        return self.matrix.scored / self.labelled if self.labelled else None


def rates(counts: MinimaxCounts) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`."""
    found = counts.matrix
    return (
        ratio("minimax_query_success_rate", counts.successes, counts.attempts),
        ratio("minimax_finish_tool_calls_rate", found.tp + found.fp, counts.attempts),
        ratio("minimax_tool_calls_match_rate", found.tp + found.tn, counts.labelled),
        ratio("minimax_schema_accuracy", counts.valid, found.tp),
        ratio("minimax_only_reasoning_rate", counts.only_reasoning, counts.successes),
        ratio("minimax_language_following_rate", counts.language_valid, counts.language_checked),
    )


def average(loops: Sequence[Observation]) -> float | None:
    """Mean over loops, as it is published; None when no loop could be counted."""
    values = [one.value for one in loops if one.value is not None]
    return sum(values) / len(values) if values else None


def counts_of(graded: Sequence[Graded]) -> MinimaxCounts:
    """Count the responses of one loop."""
    answered = [one for one in graded if one.finished]
    labelled = [one for one in graded if one.case.expect != "any"]
    ended = [one for one in labelled if one.finished and one.exchange.choice.finish in {"stop", "tool_calls"}]
    right = [one for one in ended if one.case.expect == "call" and one.predicates.said]
    checked = [one for one in answered if LANGUAGE_CHECK in one.case.tags]
    told = [_CYRILLIC.search(one.exchange.choice.content) is None for one in checked]
    return MinimaxCounts(
        attempts=len(graded), successes=len(answered), labelled=len(labelled),
        matrix=confusion([(one.case.expect == "call", one.predicates.said) for one in ended]),
        valid=sum(bool(one.calls) and all(call.valid is not False for call in one.calls) for one in right),
        only_reasoning=sum(_only_reasoning(one) for one in answered),
        language_checked=len(told), language_valid=sum(told),
    )  # fmt: skip


def _only_reasoning(one: Graded) -> bool:
    choice = one.exchange.choice
    return bool(choice.reasoning) and not choice.content and not choice.tool_calls


def observed(graded: Sequence[Graded]) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`."""
    return rates(counts_of(graded))
