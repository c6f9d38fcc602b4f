"""Audits of recorded endpoints: the real `jobs.audit`, whose probes take the next answers out of a record."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from benchmarks.fidelity_records import Recorded, without_logprobs
from jobs.audit import Audit, Audited
from jobs.audit_report import Budget
from jobs.clock import SystemClock
from jobs.golden import MODEL
from jobs.judging import GoldenSide
from monitor.evidence import prompt_of
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Fingerprint, GoldenView, Metric, RunRecord
from monitor.types import Endpoint, Exchange
from reference.variants.bank import find
from reference.variants.mixture import Mixture

ALPHA = 0.001
PER_ROUND, LISTED_TOKENS = 8, 4
USD_PER_MILLION = 0.5


@dataclass(kw_only=True)
class _Drawn:
    """The probe of a round that takes the next answers from a record."""

    kind: str
    answers: list[Exchange]
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def requests(self, seed: int) -> tuple[Any, ...]:
        del seed
        return ()

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        del client, context
        taken, self.answers = self.answers[:PER_ROUND], self.answers[PER_ROUND:]
        return ProbeResult(captures=(), exchanges=tuple(taken), observations=())


@dataclass(frozen=True, kw_only=True)
class Case:
    """A served endpoint as audits meet it: what it answers, and what golden sees in that."""

    name: str
    exchanges: Sequence[Exchange]
    views: Mapping[str, GoldenView]
    mark: Fingerprint
    precision: str = "f16"
    detectors: Sequence[Any] = field(default_factory=list)


def audited(case: Case, seed: int, budget: int, *, alpha: float = ALPHA) -> Audited:
    """One audit: prompts in an order of its own."""
    rng = np.random.default_rng(seed)
    shuffled = [case.exchanges[at] for at in rng.permutation(len(case.exchanges))]
    drawn = {
        kind: _Drawn(kind=kind, answers=[one for one in shuffled if one.exchange_id.startswith(kind)])
        for kind in ("greedy", "sample")
    }
    ask: dict[str, Any] = {kind: lambda _at, _text, one=one: one for kind, one in drawn.items()}
    endpoint = Endpoint(
        name=f"bench/{case.name}", provider="bench", base_url="http://127.0.0.1", model=MODEL, reference="golden",
        precision=case.precision, price_in_usd=USD_PER_MILLION, price_out_usd=USD_PER_MILLION,
    )  # fmt: skip

    def look(records: Sequence[RunRecord]) -> GoldenSide:
        asked = [one for record in records for one in record.exchanges]
        pairs = [(one, case.views[prompt_of(one)]) for one in asked]
        views = {one.exchange_id: replace(seen, exchange_id=one.exchange_id, run_id=one.run_id) for one, seen in pairs}
        return GoldenSide(fingerprint=case.mark, views=views)

    audit = Audit(
        endpoint=endpoint, look=look, detectors=case.detectors, ask=ask, alpha=alpha, budget=Budget(tokens=budget),
        clock=SystemClock(), vantage="bench", version="bench",
    )  # fmt: skip
    return asyncio.run(audit.run(_NoClient(), seed=seed, keep=lambda _record, _captures: None))


class _NoClient:
    """Nobody is asked."""

    async def send(self, request: Any) -> Any:
        raise AssertionError(request)

    async def aclose(self) -> None:
        return


def case_of(one: Recorded, mark: Fingerprint, detectors: Sequence[Any], *, text_only: bool) -> Case:
    """An endpoint as it was recorded; Q8_0 declares itself, all others full precision."""
    record, views = (without_logprobs(one.record), one.text_views) if text_only else (one.record, one.views)
    exchanges = record.exchanges if text_only else tuple(map(_cut, record.exchanges))
    return Case(
        name=one.name, exchanges=[each for each in exchanges if each.exchange_id in views], mark=mark,
        views=views if text_only else {key: _cut_view(view) for key, view in views.items()},
        precision="q8_0" if one.name == "Q8_0" else "f16", detectors=detectors,
    )  # fmt: skip




def mixed(
    share: float, seed: int, records: Mapping[str, Recorded], mark: Fingerprint, detectors: Sequence[Any]
) -> Case:
    """A provider that sends a share of the requests to 4-bit weights."""
    mixture = Mixture(of=find("Q4_0"), share=share, seed=seed)
    sources = [
        (one.exchange_id, records["Q4_0" if mixture.routes(at) else "F16"])
        for at, one in enumerate(records["F16"].record.exchanges)
    ]
    found = [(_cut(next(one for one in source.record.exchanges if one.exchange_id == key)), source.views.get(key))
             for key, source in sources]  # fmt: skip
    known = [(one, view) for one, view in found if view is not None]
    return Case(
        name=f"{share:.0%} Q4_0", exchanges=[one for one, _ in known], mark=mark, detectors=detectors,
        views={one.exchange_id: _cut_view(view) for one, view in known},
    )  # fmt: skip


def _cut(exchange: Exchange) -> Exchange:
    """A greedy answer as if fewer tokens had been asked for: its beginning is the same."""
    if not exchange.exchange_id.startswith("greedy"):
        return exchange
    choice = exchange.choice
    short = replace(choice, logprobs=None if choice.logprobs is None else choice.logprobs[:LISTED_TOKENS])
    usage = dict(exchange.usage or {})
    usage["completion_tokens"] = min(int(usage.get("completion_tokens", LISTED_TOKENS)), LISTED_TOKENS)
    return replace(exchange, choices=(short,), usage=usage)


def _cut_view(view: GoldenView) -> GoldenView:
    greedy = view.exchange_id.startswith("greedy")
    return replace(view, positions=view.positions[:LISTED_TOKENS]) if greedy else view
