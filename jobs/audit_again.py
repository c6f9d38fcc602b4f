"""``weighmaster audit --from``: any verdict computed again from its evidence, without asking the endpoint."""

import asyncio
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from jobs import evidence_folder
from jobs.audit import KIND, Audit, listens_to, looking, visible
from jobs.audit_report import Budget
from jobs.clock import SystemClock
from jobs.endpoints_now import INTERRUPTED, exit_code, interruptible
from jobs.evidence_folder import Kept
from jobs.judging import GoldenSide, golden_side, judge
from jobs.pipeline import Beside, Probed, ask_golden
from jobs.predicting import predictions_of, predictor_for, wanted_names
from jobs.references import scorer_for
from jobs.store_client import client_for
from jobs.terminal import show, show_json
from jobs.tolerances import tolerances_for
from jobs.verdict_table import SYMBOLS
from jobs.version import version
from monitor import decision
from monitor.codec import plain
from monitor.config_types import Config
from monitor.detectors.identify import Identify
from monitor.errors import StoreError, UsageError
from monitor.ports import JudgesAlone, Scorer
from monitor.results import Verdict
from storage.arrays import GONE

_MOST_VERDICTS, _MOST_RUNS = 1000, 200
_COMPARED = ("status", "cause", "effect", "low", "high", "n", "threshold", "p_value", "e_value", "mde")
_SAID = {"reason", "dots"}  # words, and rounded numbers for a picture
_LEAST = 1e-5  # numbers below say nothing
_PER_TOKEN = 1e-6  # nats by which scores of one token depend on the batch: details hold sums over tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """A verdict as it was and as it comes out now; ``now`` is None when its detector is gone."""

    before: Verdict
    now: Verdict | None

    @property
    def same(self) -> bool:
        """Whether every word is the same and every number to a thousandth: scores depend on what is in a batch."""
        return self.now is not None and not self.differs

    @property
    def differs(self) -> list[str]:
        """Names of the fields and details that come out otherwise; a newer version may say more than before."""
        if self.now is None:
            return []
        slack = max(_LEAST, _PER_TOKEN * self.before.n)
        then, now = plain(self.before.details), plain(self.now.details)
        fields = (name for name in _COMPARED
                  if not _alike(plain(getattr(self.before, name)), plain(getattr(self.now, name)), _LEAST))  # fmt: skip
        details = (f"details.{name}" for name in then
                   if name not in _SAID and (name not in now or not _alike(then[name], now[name], slack)))  # fmt: skip
        return [*fields, *details]


def run(config: Config, source: str, *, as_json: bool) -> int:
    """Compute the verdicts in the folder `source`, or the one of that id in the store, again; print old and new.

    Of a folder that holds several verdicts of one detector on one endpoint, the newest.

    Returns the exit code that the command had that made them, and 1 when a verdict comes out otherwise than before.

    Raises
    ------
    UsageError
        When there is no such folder and no such verdict.
    """
    console = Console(stderr=True, highlight=False)
    found = evidence_folder.read(Path(source)) if Path(source).is_dir() else [asyncio.run(_from_store(config, source))]
    kept = [one for one in found if one.verdicts]
    for one in found:
        if not one.verdicts:
            console.print(f"{one.place}: no verdict was made of what {one.probed.endpoint.name} answered (was it "
                          "stopped?): audit it again", markup=False, soft_wrap=True)  # fmt: skip
    if not kept:
        raise UsageError(f"{source}: holds no verdicts that could be computed again; audit the endpoint again")
    golden: dict[str, Scorer] = {}
    try:
        with interruptible():
            told = [again for one in kept for again in _computed(config, one, golden, console)]
    except KeyboardInterrupt:
        console.print("stopped; the evidence is as it was")
        return INTERRUPTED
    finally:
        for scorer in golden.values():
            scorer.close()
    for one in kept:
        if one.n_changed:
            console.print(f"{one.place}: {one.n_changed} answers are decoded otherwise than when they were recorded",
                          markup=False, soft_wrap=True)  # fmt: skip
    if as_json:
        show_json([_row(one) for one in told])
    else:
        show(_table(told))
    code = exit_code([one.now.status for one in told if one.now is not None and _counts(one.now, told)])
    return code if all(one.same for one in told) else 1


def _counts(verdict: Verdict, found: Sequence[_Again]) -> bool:
    """Whether the exit code rests on it: of an audit on its own verdict, not on those that it is joined from."""
    audited = any(one.before.detector == KIND and one.before.endpoint == verdict.endpoint for one in found)
    return verdict.detector == KIND or not audited


def _computed(config: Config, kept: Kept, golden: dict[str, Scorer], console: Console) -> Iterator[_Again]:
    name = kept.probed.endpoint.reference
    if name is not None and name not in config.references:
        raise UsageError(f"{kept.place}: the configuration has no reference {name!r}, which the verdicts need")
    if name is not None and name not in golden:
        console.print(f"loading reference {name}", markup=False, soft_wrap=True)
        golden[name] = scorer_for(config.references[name])
    sides: dict[tuple[str, ...], GoldenSide] = {}
    newest = {one.detector: one for one in sorted(kept.verdicts, key=lambda one: one.at)}
    for verdict in newest.values():
        _require_one_run(verdict, config)
        by_id = {record.run.run_id: (record, seen) for record, seen in
                 zip(kept.probed.records, kept.probed.captures, strict=True)}  # fmt: skip
        pairs = [by_id[run_id] for run_id in verdict.run_ids if run_id in by_id]
        if len(pairs) < len(verdict.run_ids):
            gone = [run_id for run_id in verdict.run_ids if run_id not in by_id]
            raise UsageError(f"{kept.place}: {len(gone)} of {len(verdict.run_ids)} runs of verdict "
                             f"{verdict.verdict_id} are missing ({gone[0]}); a verdict needs all of them")  # fmt: skip
        probed = replace(kept.probed, records=tuple(p[0] for p in pairs), captures=tuple(p[1] for p in pairs))
        n = sum(len(record.exchanges) for record in probed.records)
        console.print(f"{verdict.endpoint}: {verdict.detector} again, {n} answers", markup=False, soft_wrap=True)
        scorer = golden.get(name or "")
        if verdict.detector == KIND:
            yield _Again(before=verdict, now=_audited(config, verdict, probed, scorer))
            continue
        if verdict.run_ids not in sides:  # the verdicts of an audit rest on the same answers
            kinds = {one.detector for one in kept.verdicts if one.run_ids == verdict.run_ids}
            paired = any("behaviour" in one.details for one in kept.verdicts if one.run_ids == verdict.run_ids)
            sides[verdict.run_ids] = _side(config, probed, scorer, kinds, paired=paired)
        yield _Again(before=verdict, now=_judged(config, verdict, probed, scorer, sides[verdict.run_ids]))


def _require_one_run(verdict: Verdict, config: Config) -> None:
    """Refuse a verdict that rests on more than its own runs, or whose runs hold no words."""
    if verdict.detector == "suite":
        raise UsageError(f"{verdict.verdict_id}: runs of a suite keep no words that golden could be asked again; "
                         f"weighmaster probe {verdict.endpoint} --kind suite asks all anew")  # fmt: skip
    detector = next((one for one in config.detectors if one.kind == verdict.detector), None)
    looks_back = detector is not None and detector.looks_back > 0
    if isinstance(detector, JudgesAlone):
        looks_back = bool(verdict.details.get("n_before"))
    if looks_back or verdict.detector == decision.KIND:
        raise UsageError(f"{verdict.verdict_id}: {verdict.detector} rests on earlier runs of the endpoint too; only "
                         "verdicts on their own runs can be computed again")  # fmt: skip


def _side(
    config: Config, probed: Probed, scorer: Scorer | None, kinds: Collection[str], *, paired: bool
) -> GoldenSide:  # fmt: skip
    """What the golden side says, as far as the detectors `kinds` want to know: drawing answers takes minutes.

    `paired` says that verdicts of then rest on golden's own answers to the same requests.
    """
    name = probed.endpoint.reference
    tolerances = tolerances_for(config.references[name], scorer.fingerprint) if name and scorer else None
    wanting = [one for one in config.detectors if one.kind in kinds]
    beside = asyncio.run(ask_golden(probed, scorer, wanting)) if paired else Beside()
    side = golden_side(probed.records, scorer, wanting, tolerances=tolerances, drawn=beside.drawn)
    return replace(side, answers=beside.answers)


def _judged(
    config: Config, verdict: Verdict, probed: Probed, scorer: Scorer | None, golden: GoldenSide
) -> Verdict | None:
    name = probed.endpoint.reference
    if verdict.detector == Identify.kind and name and scorer:
        predictor = predictor_for(config.references[name], scorer, lambda _line: None)
        names = wanted_names(predictor, config.detectors)
        predicted = predictions_of(probed.records, golden.views, scorer, predictor, names)
        golden = replace(golden, predictions=predicted)
    detectors = [one for one in config.detectors if one.kind == verdict.detector]
    found = judge(probed.endpoint, probed.records, golden, detectors, at=verdict.at)
    return found[0] if found else None


def _audited(config: Config, verdict: Verdict, probed: Probed, scorer: Scorer | None) -> Verdict | None:
    if scorer is None:
        return None
    reference = config.references[str(probed.endpoint.reference)]
    audit = Audit(
        endpoint=probed.endpoint, look=looking(scorer, tolerances_for(reference, scorer.fingerprint)),
        detectors=[one for one in config.detectors if listens_to(one)],
        areas=visible(reference), ask={}, alpha=math.exp(-(verdict.threshold or 0.0)),
        budget=Budget(tokens=verdict.details["budget_tokens"], usd=verdict.details["budget_usd"]),
        clock=SystemClock(), vantage=config.vantage, version=version(),
    )  # fmt: skip
    return audit.again(probed.records, probed.captures, at=verdict.at).verdict


async def _from_store(config: Config, verdict_id: str) -> Kept:
    url = config.store.url
    store = client_for(config.store, url)
    try:
        verdicts = [one for one in await store.verdicts(limit=_MOST_VERDICTS) if one.verdict_id == verdict_id]
        if not verdicts:
            raise UsageError(f"{verdict_id}: neither a folder nor one of the last {_MOST_VERDICTS} verdicts at {url}")
        records, _ = await store.runs(verdicts[0].endpoint, None, _MOST_RUNS)
    except StoreError as error:
        raise UsageError(f"{verdict_id}: no such folder, and the store does not answer ({error})") from None
    finally:
        await store.aclose()
    entry = next((e.endpoint for e in config.endpoints if e.endpoint.name == verdicts[0].endpoint), None)
    if entry is None:
        raise UsageError(f"{verdict_id}: the configuration has no endpoint {verdicts[0].endpoint}")
    by_id = {record.run.run_id: record for record in records}
    runs = tuple(by_id[run_id] for run_id in verdicts[0].run_ids if run_id in by_id)
    gone = [one.run.run_id for one in runs if any(GONE in exchange.flags for exchange in one.exchanges)]
    if gone:
        raise UsageError(f"{verdict_id}: the logprobs of its run {gone[0]} are no longer kept (store.retention)")
    probed = Probed(endpoint=entry, records=runs, captures=((),) * len(runs))
    return Kept(place=Path(verdict_id), verdicts=tuple(verdicts), n_changed=0, probed=probed)


def _alike(before: Any, now: Any, slack: float) -> bool:
    """Whether two JSON values say the same; sentences are left to the numbers that they are made of."""
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() <= now.keys() and all(_alike(before[k], now[k], slack) for k in before if k != "reason")
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(_alike(*pair, slack) for pair in zip(before, now, strict=True))
    if isinstance(before, float) and isinstance(now, float):
        return math.isclose(before, now, rel_tol=1e-3, abs_tol=slack)
    return bool(before == now)


def _row(again: _Again) -> dict[str, Any]:
    return {
        "endpoint": again.before.endpoint, "detector": again.before.detector, "same": again.same,
        "differs": again.differs,
        "before": plain(again.before), "now": None if again.now is None else plain(again.now),
    }  # fmt: skip


def _table(found: Sequence[_Again]) -> Table:
    shown = Table(title="Verdicts computed again from their evidence", title_justify="left")
    for name in ("endpoint", "detector", "verdict then", "now", "effect then", "now", "same"):
        shown.add_column(name)
    for one in found:
        shown.add_row(
            one.before.endpoint, one.before.detector, _status(one.before), _status(one.now), _effect(one.before),
            _effect(one.now), "yes" if one.same else f"[red]no[/red]: {', '.join(one.differs) or 'no detector'}",
        )  # fmt: skip
    return shown


def _status(verdict: Verdict | None) -> str:
    if verdict is None:
        return "no such detector any more"
    symbol, colour = SYMBOLS[verdict.status]
    return f"[{colour}]{symbol} {verdict.status}[/{colour}]" + (f" ({verdict.cause})" if verdict.cause else "")


def _effect(verdict: Verdict | None) -> str:
    return "–" if verdict is None or verdict.effect is None else f"{verdict.effect:.4g} {verdict.unit}"
