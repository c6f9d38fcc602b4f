"""``weighmaster identify``: names what endpoints serve, out of a bank of variants of the golden weights."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from jobs import evidence_folder
from jobs.clients import client_of
from jobs.clock import SystemClock
from jobs.event_loop import run as run_loop
from jobs.identify_picture import svg
from jobs.identify_table import identified_row, identified_table
from jobs.judging import GoldenSide, evidence_of, golden_side
from jobs.pipeline import Judged, Probed
from jobs.predicting import bank_names, predictions_of, predictor_for, prepare
from jobs.probe_now import INTERRUPTED, chosen, exit_code, interruptible, scorers
from jobs.settings import catalogues
from jobs.terminal import show, show_json
from jobs.tolerances import tolerances_for
from jobs.version import version
from monitor.config_types import Config, EndpointConfig
from monitor.detectors.identify import Identify, deviations
from monitor.errors import UsageError
from monitor.ports import Client, Probe, Scorer
from monitor.results import Evidence, Prediction, RunRecord, Verdict
from monitor.types import Capture
from probes.heartbeat import Heartbeat
from probes.run import run_probe

_PER_ROUND = 8
PICTURE = "identify.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """One endpoint with its verdict, and the evidence."""

    evidence: Evidence
    verdict: Verdict
    probed: Probed
    golden: GoldenSide


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What one endpoint is asked with, and looked at with: ``look`` takes the records of one round."""

    entry: EndpointConfig
    detector: Identify
    probes: Sequence[Probe]
    look: Callable[[Sequence[RunRecord]], GoldenSide]


def run(config: Config, patterns: Sequence[str], out: Path, *, n: int, top_k: int, as_json: bool) -> int:
    """Identify the endpoints one after the other and print; return the exit code of the worst (DESIGN section 7).

    Raises
    ------
    UsageError
        When an endpoint has no reference, or one that cannot predict variants.
    """
    console = Console(stderr=True, highlight=False)
    entries = chosen(config, patterns)
    lacking = [entry.endpoint.name for entry in entries if entry.endpoint.reference is None]
    if lacking:
        raise UsageError(f"{', '.join(lacking)}: no `reference`, so there are no variants to compare with")
    folder = evidence_folder.prepare(out)

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    try:
        with interruptible(), scorers(config, entries, console) as golden:
            made = [
                _made(config, entry, golden[str(entry.endpoint.reference)], tell, n=n, top_k=top_k)
                for entry in entries
            ]
            verdicts = run_loop(_all(made, config, folder, tell))
    except KeyboardInterrupt:
        tell(f"stopped; rounds and verdicts that were finished are in {folder}, predictions are kept")
        return INTERRUPTED
    return _finish(verdicts, folder, console, as_json=as_json)


def _made(
    config: Config, entry: EndpointConfig, scorer: Scorer, tell: Callable[[str], None], *, n: int, top_k: int
) -> _Asked:
    reference = config.references[str(entry.endpoint.reference)]
    predictor = predictor_for(reference, scorer, tell)
    names = bank_names(predictor)
    if not names:
        raise UsageError("the pack holds no predictions; record one with `weighmaster reference pack --variants all`")
    kind = catalogues(detectors=False).probes["identify"]
    probes: list[Probe] = [
        kind(prompts=min(_PER_ROUND, n - skip), skip=skip, top_k=top_k) for skip in range(0, n, _PER_ROUND)
    ]
    prepare([request for probe in probes for request in probe.requests(0)], scorer, predictor, names)
    tolerances = tolerances_for(reference, scorer.fingerprint)

    def look(records: Sequence[RunRecord]) -> GoldenSide:
        seen = golden_side(records, scorer, (), tolerances=tolerances)
        return replace(seen, predictions=predictions_of(records, seen.views, scorer, predictor, names))

    detector = next((one for one in config.detectors if isinstance(one, Identify)), Identify())
    return _Asked(entry=entry, detector=detector, probes=probes, look=look)


async def _all(
    asked: Sequence[_Asked], config: Config, folder: Path, tell: Callable[[str], None]
) -> list[Verdict]:
    clock, verdicts = SystemClock(), []
    async with Heartbeat(clock).beating() as heartbeat:
        for one in asked:
            client = client_of(one.entry, clock, heartbeat)
            try:
                found = await _one(one, client, config, folder, tell)
            finally:
                await client.aclose()
            # At once: who stops a later endpoint keeps this one.
            _keep(found, folder, tell)
            verdicts.append(found.verdict)
    return verdicts


async def _one(
    asked: _Asked, client: Client, config: Config, folder: Path, tell: Callable[[str], None]
) -> Identified:
    """Ask round after round until it is decided or all prompts are asked."""
    endpoint, clock = asked.entry.endpoint, SystemClock()
    records: list[RunRecord] = []
    captures: list[tuple[Capture, ...]] = []
    golden = GoldenSide()
    seed = secrets.randbits(31)
    for probe in asked.probes:
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
        if _is_decided(verdict, asked.detector) or not any(one.answered for one in record.exchanges):
            break
    probed = Probed(endpoint=endpoint, records=tuple(records), captures=tuple(captures))
    return Identified(evidence=evidence, verdict=verdict, probed=probed, golden=golden)


def _together(before: GoldenSide, new: GoldenSide) -> GoldenSide:
    """Both golden sides: views and predictions of all rounds."""
    predictions: dict[str, Prediction] = {one.variant: one for one in before.predictions}
    for one in new.predictions:
        known = predictions[one.variant].logprobs if one.variant in predictions else {}
        predictions[one.variant] = replace(one, logprobs={**known, **one.logprobs})
    return replace(new, views={**before.views, **new.views}, predictions=tuple(predictions.values()))


def _is_decided(verdict: Verdict, detector: Identify) -> bool:
    families = verdict.details.get("families") or {}
    return bool(families) and max(families.values()) >= detector.sure


def _keep(found: Identified, folder: Path, tell: Callable[[str], None]) -> None:
    """Write the verdict on one endpoint, and the picture where there is something to draw."""
    judged = Judged(probed=found.probed, views=found.golden.views, verdicts=(found.verdict,))
    evidence_folder.keep_judged(folder, judged)
    place = folder / found.probed.endpoint.name.replace("/", "__") / PICTURE
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
