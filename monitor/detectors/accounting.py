"""Did the endpoint see the prompt that the golden template makes of the conversation?

Needs: ``usage.prompt_tokens`` and the golden template and tokenizer; no weights, no extra requests.
Compares, for every complete answer, the endpoint's count with the length of the golden rendering. The comparison is
exact, so one difference is a finding: the same difference on every conversation of the same length points at the
template (or a hidden system prompt), differences that follow the text point at the tokenizer; one difference on some
conversations only leaves both open. Where the difference is exactly the size of a part of the golden prompt (system
turn, tools, the answer's opening words), that part is named.
Left out are requests whose prompt is not one thing for all servers: with ``tool_choice`` none, which lets a server
leave its tools out, or with tools that lack a description or parameters, which some servers fill in.
What can mislead it: a gateway that bills with its own tokenizer; providers that report cached tokens apart.
Source: prompt-token equality as a free and exact detector (testbed notes, 20 of 20 prompts for a wrong template).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import ClassVar

import numpy as np

from monitor.evidence import Card, Finding, verdict
from monitor.plurals import plural
from monitor.results import Evidence, Metric, Verdict
from monitor.stats.rates import wilson
from monitor.types import Exchange, Request
from monitor.wire.usage import read_usage

_PARTS: Mapping[str, str] = {
    "system": "the system turn (the template's default, or the one that was sent)",
    "tools": "the tools that were sent",
    "stub": "the words that open the answer",
}


@dataclass(frozen=True, slots=True)
class _Count:
    """One comparison: number of messages, golden and reported prompt tokens."""

    prompt_id: str
    n_messages: int
    golden: int
    reported: int
    parts: Mapping[str, int]

    @property
    def delta(self) -> int:
        return self.reported - self.golden


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """Prompt-token counts, exact."""

    kind: ClassVar[str] = "accounting"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = None
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="prompt_token_match", unit="share", better="higher", source="DESIGN section 6",
               definition="Answers whose usage.prompt_tokens equals the golden count / answers compared, k of n."),
    )  # fmt: skip

    min_n: int = 3
    """Fewest comparisons for a verdict."""

    def __post_init__(self) -> None:
        if self.min_n < 1:
            raise ValueError("`min_n` must be at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge all answers that report prompt tokens."""
        card = Card(detector=self.kind, version=self.version, statistic="prompt_token_match", unit="share")
        counts = [count for exchange in evidence.exchanges if (count := _count(exchange, evidence)) is not None]
        finding = self._judge(counts) if len(counts) >= self.min_n else self._too_few(counts, evidence)
        return verdict(card, finding, evidence, at)

    def _judge(self, counts: list[_Count]) -> Finding:
        wrong = [count for count in counts if count.delta]
        rate = wilson(len(counts) - len(wrong), len(counts))
        return Finding(
            status="fail" if wrong else "pass", cause=_cause(wrong, counts), reason=_reason(wrong, counts),
            effect=rate.value, low=rate.low, high=rate.high, n=rate.n, threshold=1.0,
            details={"k": rate.k, "deltas": _histogram(wrong), "missing": missing_parts(wrong)},
        )  # fmt: skip

    def _too_few(self, counts: list[_Count], evidence: Evidence) -> Finding:
        few = f"only {plural(len(counts), 'answer')}" if counts else "no answer"
        reason = f"{few} could be compared, {self.min_n} needed"
        if not any(exchange.answered for exchange in evidence.exchanges):
            cause, why = "no_answers", "no complete answer"
        elif not evidence.golden:
            cause, why = "no_reference", "no golden template and tokenizer for this endpoint"
        elif counts:
            cause, why = "too_few", "too few complete answers"
        else:
            cause, why = "no_usage", "the endpoint reports no usage.prompt_tokens"
        return Finding(status="inconclusive", cause=cause, reason=f"{reason}: {why}", n=len(counts))


def _count(exchange: Exchange, evidence: Evidence) -> _Count | None:
    view = evidence.golden.get(exchange.exchange_id)
    reported = read_usage(exchange.usage or {}).input_total
    if view is None or view.prompt_tokens is None or exchange.request is None or not exchange.answered:
        return None
    if reported is None or reported <= 0 or reported != int(reported) or _is_open(exchange.request):
        return None
    return _Count(
        exchange.request.prompt_id, len(exchange.request.messages), view.prompt_tokens, int(reported), view.prompt_parts
    )


def _is_open(request: Request) -> bool:
    """Whether servers may render the tools of `request` in more than one way."""
    functions = [tool.get("function", {}) for tool in request.tools]
    spelled = all({"name", "description", "parameters"} <= function.keys() for function in functions)
    return bool(functions) and (request.extra.get("tool_choice") == "none" or not spelled)


def _cause(wrong: list[_Count], counts: list[_Count]) -> str | None:
    """Name the layer: a template adds the same to every conversation of a shape, a tokenizer follows the text."""
    if not wrong:
        return None
    by_length: dict[int, set[int]] = {}
    for count in counts:
        by_length.setdefault(count.n_messages, set()).add(count.delta)
    if len(wrong) == len(counts) and all(len(deltas) == 1 for deltas in by_length.values()):
        return "template"
    return "tokenizer" if len({count.delta for count in wrong}) > 1 else "template or tokenizer"


def _reason(wrong: list[_Count], counts: list[_Count]) -> str:
    if not wrong:
        return f"all {len(counts)} prompt-token counts equal the golden count"
    deltas = sorted({count.delta for count in wrong})
    first = wrong[0]
    return (
        f"{len(wrong)} of {len(counts)} prompt-token counts differ from golden's, {_span(deltas)} "
        f"(e.g. {first.prompt_id}: {first.reported} instead of {first.golden}){_explanation(wrong, deltas)}"
    )


def _span(deltas: Sequence[int]) -> str:
    """Return such as ``21 tokens less``, or ``-3 to +2 tokens`` where some are more and some less."""
    low, high = deltas[0], deltas[-1]
    if low < 0 < high:
        return f"{low:+d} to {high:+d} tokens"
    near, far = sorted((abs(low), abs(high)))
    return f"{plural(far, 'token') if near == far else f'{near} to {far} tokens'} {'less' if low < 0 else 'more'}"


def missing_parts(wrong: Sequence[_Count]) -> str | None:
    """Name the part (or the two parts) of the golden prompt whose absence explains every difference, None if none does.

    The smallest explanation counts; parts without tokens explain nothing.
    """
    for size in (1, 2):
        for names in combinations(_PARTS, size):
            if wrong and all(
                all(count.parts.get(name) for name in names)
                and count.delta == -sum(count.parts.get(name, 0) for name in names)
                for count in wrong
            ):
                return "+".join(names)
    return None


def _explanation(wrong: Sequence[_Count], deltas: Sequence[int]) -> str:
    missing = missing_parts(wrong)
    if missing is not None:
        return ": exactly " + " and ".join(_PARTS[name] for name in missing.split("+"))
    return ": as many tokens more on each, as a hidden system prompt adds" if len(deltas) == 1 and deltas[0] > 0 else ""


def _histogram(wrong: list[_Count]) -> Mapping[str, int]:
    histogram: dict[str, int] = {}
    for count in sorted(wrong, key=lambda count: count.delta):
        key = f"{count.delta:+d}"
        histogram[key] = histogram.get(key, 0) + 1
    return histogram


DETECTOR = Accounting
