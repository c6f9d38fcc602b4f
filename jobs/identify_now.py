"""``weighmaster identify``: names what endpoints serve, out of a bank of variants of the golden weights."""

import asyncio
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from jobs import evidence_folder
from jobs.clock import SystemClock
from jobs.endpoints_now import INTERRUPTED, chosen, each, exit_code, interruptible, require_references, scorers
from jobs.event_loop import run as run_loop
from jobs.identify_order import CANDIDATES, ordered
from jobs.identify_picture import svg
from jobs.identify_progress import Progress
from jobs.identify_table import identified_row, identified_table
from jobs.judging import GoldenSide, evidence_of, golden_side
from jobs.pipeline import Judged, Probed
from jobs.predicting import kept_at, predictions_of, predictor_for, prepare, wanted_names
from jobs.settings import catalogues
from jobs.terminal import show, show_json
from jobs.tolerances import tolerances_for
from jobs.version import version
from monitor.config_types import Config, EndpointConfig
from monitor.detectors.identify import Identify, deviations
from monitor.errors import UsageError
from monitor.evidence import after_sampler
from monitor.plurals import plural
from monitor.ports import Client, Probe, Scorer
from monitor.results import Evidence, Prediction, RunRecord, Verdict
from monitor.types import Capture
from probes.run import run_probe

_PER_ROUND = 8
_FEW_LOGPROBS = 5
"""Where 20 are refused, most APIs give as many."""

_DRAWN_TOKENS = 40
"""Of an answer that is drawn: 40 of them have the 1,600 tokens that name 4 bit."""

_SHARE_WIDTH = 0.2
PICTURE = "identify.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """One endpoint with its verdict, and the evidence."""

    evidence: Evidence
    verdict: Verdict
    probed: Probed
    golden: GoldenSide


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How an endpoint is asked: for ``top_k`` logprobs, None for text only; ``drawn`` at temperature 1, or else 0."""

    top_k: int | None
    drawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What one endpoint is asked with, and looked at with.

    ``ask`` makes the probe of the n-th round, None when all prompts were asked; ``look`` takes the records of one
    round; ``way`` is how to ask first.
    """

    entry: EndpointConfig
    detector: Identify
    ask: Callable[[int, Way], Probe | None]
    look: Callable[[Sequence[RunRecord]], GoldenSide]
    way: Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an identification is asked to do: most requests ``n``, and how to ask first."""

    n: int
    way: Way


def run(config: Config, patterns: Sequence[str], terms: Terms, out: Path, *, as_json: bool) -> int:
    """Identify the endpoints one after the other and print; return the exit code of the worst (DESIGN section 7).

    Raises
    ------
    UsageError
        When an endpoint has no reference, or one that cannot predict variants.
    """
    console = Console(stderr=True, highlight=False)
    entries = chosen(config, patterns)
    require_references(entries, "there are no variants to compare with")
    folder = evidence_folder.prepare(out)

    verdicts: list[Verdict] = []
    stopped = threading.Event()

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    progress = Progress(tell, stopped)
    try:
        with interruptible(), scorers(config, entries, console) as golden:
            made = {
                entry.endpoint.name: _made(config, entry, golden[str(entry.endpoint.reference)], terms, progress)
                for entry in entries
            }

            async def identify(entry: EndpointConfig, client: Client) -> None:
                try:
                    found = await _one(made[entry.endpoint.name], client, config, folder, tell)
                except asyncio.CancelledError:
                    stopped.set()
                    raise
                # At once: who stops a later endpoint keeps this one.
                _keep(found, folder, tell)
                verdicts.append(found.verdict)

            run_loop(each(entries, identify))
    except KeyboardInterrupt:
        if verdicts:
            _finish(verdicts, folder, console, as_json=as_json)
        tell(f"stopped; rounds and verdicts that were finished are in {folder}, predictions are kept")
        return INTERRUPTED
    return _finish(verdicts, folder, console, as_json=as_json)


def _made(
    config: Config, entry: EndpointConfig, scorer: Scorer, terms: Terms, progress: Progress
) -> _Asked:
    from reference.engines.pack import PackEngine  # noqa: PLC0415

    reference = config.references[str(entry.endpoint.reference)]
    predictor = predictor_for(reference, scorer, progress)
    detector = next((one for one in config.detectors if isinstance(one, Identify)), Identify())
    names = wanted_names(predictor, config.detectors)
    if not names:
        raise UsageError("the pack holds no predictions; record one with `weighmaster reference pack --variants all`")
    kind: Any = catalogues(detectors=False).probes["identify"]
    # What a pack has recorded are the first prompts of the pool's own order.
    in_order = isinstance(scorer, PackEngine) or terms.n > CANDIDATES
    with progress.working():
        progress("looking up what was predicted before")
        best = () if in_order else ordered(
            scorer, predictor, names, kept_at(scorer, "-order.json"), order=kind().order, report=progress
        )  # fmt: skip
        ask = partial(_round, partial(kind, chosen=best), terms.n)
        rounds = range(0, terms.n, _PER_ROUND)
        if terms.way.top_k is not None:
            probes = [probe for at in range(len(rounds)) if (probe := ask(at, terms.way)) is not None]
            prepare([request for probe in probes for request in probe.requests(0)], scorer, predictor, names)
    tolerances = tolerances_for(reference, scorer.fingerprint)

    def look(records: Sequence[RunRecord]) -> GoldenSide:
        with progress.working():
            progress(f"golden weights read {plural(sum(len(one.exchanges) for one in records), 'answer')}")
            seen = golden_side(records, scorer, (), tolerances=tolerances)
            return replace(seen, predictions=predictions_of(records, seen.views, scorer, predictor, names))

    return _Asked(entry=entry, detector=detector, ask=ask, look=look, way=terms.way)


def _round(kind: Any, n: int, at: int, way: Way) -> Probe | None:
    skip = at * _PER_ROUND
    if skip >= n:
        return None
    more = {"temperature": 1.0, "tokens": _DRAWN_TOKENS} if way.drawn else {}
    probe: Probe = kind(prompts=min(_PER_ROUND, n - skip), skip=skip, top_k=way.top_k, **more)
    return probe


async def _one(
    asked: _Asked, client: Client, config: Config, folder: Path, tell: Callable[[str], None]
) -> Identified:
    """Ask round after round until it is decided or all prompts are asked."""
    endpoint, clock = asked.entry.endpoint, SystemClock()
    records: list[RunRecord] = []
    captures: list[tuple[Capture, ...]] = []
    golden, way, rounds = GoldenSide(), asked.way, 0
    seed = secrets.randbits(31)
    while (probe := asked.ask(rounds, way)) is not None:
        record, seen = await run_probe(
            probe, endpoint, client, clock=clock, seed=seed, vantage=config.vantage, prober_version=version(),
            concurrency=config.agent.concurrency,
        )  # fmt: skip
        records.append(record)
        captures.append(seen)
        evidence_folder.keep_probed(folder, Probed(endpoint=endpoint, records=(record,), captures=(seen,)))
        # Golden weights take minutes, and the heartbeat must go on.
        golden = _together(golden, await asyncio.to_thread(asked.look, [record]))
        evidence = evidence_of(endpoint, records, golden)
        # It draws nothing, whatever the generator.
        verdict = await asyncio.to_thread(asked.detector.run, evidence, at=clock.now(), rng=np.random.default_rng(0))
        tell(f"{endpoint.name}: {sum(len(one.exchanges) for one in records)} requests: {verdict.reason}")
        silent = not any(one.answered for one in record.exchanges)
        other = _instead(way, record, golden, silent=silent)
        if _is_decided(verdict, asked.detector) or (silent and other is None):
            break
        rounds += not silent  # what was refused is asked again, since the best prompts come first
        if other is not None:
            way, how = other
            tell(f"{endpoint.name}: {how}")
    probed = Probed(endpoint=endpoint, records=tuple(records), captures=tuple(captures))
    return Identified(evidence=evidence, verdict=verdict, probed=probed, golden=golden)


def _instead(way: Way, record: RunRecord, golden: GoldenSide, *, silent: bool) -> tuple[Way, str] | None:
    """How to ask on where that was refused or says nothing of weights, and why; None where nothing else would help."""
    refused = any(one.outcome == "unsupported_param" for one in record.exchanges)
    if way.top_k is None:
        draw = refused and silent and not way.drawn
        return (replace(way, drawn=True), "temperature 0 is refused; going on by drawn text") if draw else None
    if not _lacks_logprobs(record, golden):
        return None
    if refused and way.top_k > _FEW_LOGPROBS:
        return replace(way, top_k=_FEW_LOGPROBS), f"{way.top_k} logprobs are refused; asking for {_FEW_LOGPROBS}"
    why = "logprobs are refused" if refused else "no logprobs that say anything of weights"
    return replace(way, top_k=None), f"{why}; going on by text"


def _lacks_logprobs(record: RunRecord, golden: GoldenSide) -> bool:
    """Whether this endpoint refuses logprobs, gives none, or gives those after the sampler."""
    if any(one.outcome == "unsupported_param" for one in record.exchanges):
        return True
    views = [golden.views[one.exchange_id] for one in record.exchanges if one.exchange_id in golden.views]
    places = [place for view in views for place in view.positions]
    return bool(places) and (not any(place.endpoint_top for place in places) or after_sampler(places))


def _together(before: GoldenSide, new: GoldenSide) -> GoldenSide:
    """Both golden sides: views and predictions of all rounds."""
    predictions: dict[str, Prediction] = {one.variant: one for one in before.predictions}
    for one in new.predictions:
        known = predictions[one.variant].logprobs if one.variant in predictions else {}
        predictions[one.variant] = replace(one, logprobs={**known, **one.logprobs})
    return replace(new, views={**before.views, **new.views}, predictions=tuple(predictions.values()))


def _is_decided(verdict: Verdict, detector: Identify) -> bool:
    """Whether more answers would change neither the name nor, where a share is routed, what is known of the share."""
    families, parts = verdict.details.get("families") or {}, verdict.details.get("parts") or []
    if not families or max(families.values()) < detector.sure:
        return False
    return len(parts) < 2 or parts[0]["high"] - parts[0]["low"] <= _SHARE_WIDTH


def _keep(found: Identified, folder: Path, tell: Callable[[str], None]) -> None:
    """Write the verdict on one endpoint, and the picture where there is something to draw."""
    judged = Judged(probed=found.probed, views=found.golden.views, verdicts=(found.verdict,))
    evidence_folder.keep_judged(folder, judged)
    place = evidence_folder.place_of(folder, found.probed.endpoint.name) / PICTURE
    place.unlink(missing_ok=True)  # of an earlier identification
    if found.verdict.details.get("nearest") is not None:
        observed, predicted = deviations(found.evidence, found.verdict.details["nearest"])
        place.write_text(svg(found.verdict, observed, predicted), "utf-8")
        tell(f"written: {place}")


def _finish(verdicts: Sequence[Verdict], folder: Path, console: Console, *, as_json: bool) -> int:
    rows = [identified_row(one) for one in verdicts]
    if as_json:
        show_json(rows)
    else:
        show(identified_table(rows))
        for row in rows:
            console.print(f"{row['endpoint']}: {row['reason']}", markup=False, soft_wrap=True)
        console.print(f"evidence: {folder}", markup=False, soft_wrap=True)
    return exit_code([one.status for one in verdicts])
