"""``weighmaster audit``: audits some endpoints now."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from jobs import evidence_folder
from jobs.audit import Audit, Audited, listens_to, looking, visible
from jobs.audit_questions import known_prompts, questions
from jobs.audit_report import Budget, Round
from jobs.audit_table import audit_row, audit_table
from jobs.clock import SystemClock
from jobs.endpoints_now import INTERRUPTED, chosen, each, exit_code, interruptible, require_references, scorers
from jobs.event_loop import run as run_loop
from jobs.pipeline import Judged, Probed
from jobs.terminal import show, show_json
from jobs.tolerances import tolerances_for
from jobs.version import version
from monitor.config_types import Config, EndpointConfig
from monitor.errors import UsageError
from monitor.ports import Client, Scorer
from monitor.results import RunRecord
from monitor.types import Capture


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an audit is asked to do. ``text_only`` asks for no logprobs, as if the endpoint had none."""

    budget: Budget
    alpha: float
    text_only: bool = False


def run(config: Config, patterns: Sequence[str], terms: Terms, out: Path, *, as_json: bool) -> int:
    """Audit the endpoints one after the other and print; return the exit code of the worst (DESIGN section 7)."""
    console = Console(stderr=True, highlight=False)
    entries = chosen(config, patterns)
    require_references(entries, "there is nothing to audit against")
    if terms.budget.usd is not None:
        unpriced = [e.endpoint.name for e in entries if None in {e.endpoint.price_in_usd, e.endpoint.price_out_usd}]
        if unpriced:
            raise UsageError(f"--budget-usd needs price_in_usd and price_out_usd of {', '.join(unpriced)}")
    folder = evidence_folder.prepare(out)
    finished: list[Audited] = []
    try:
        with interruptible(), scorers(config, entries, console) as golden:
            audits = {
                entry.endpoint.name: made(
                    config, entry, golden[str(entry.endpoint.reference)], terms, _teller(entry, console)
                )
                for entry in entries
            }

            async def audit(entry: EndpointConfig, client: Client) -> None:
                one = audits[entry.endpoint.name]
                found = await one.run(client, seed=secrets.randbits(31), keep=_keeper(folder, entry))
                _keep(found, folder)
                finished.append(found)

            run_loop(each(entries, audit))
    except KeyboardInterrupt:
        if finished:
            _show(finished, folder, as_json=as_json)
        console.print(f"stopped; the rounds that were finished are kept in {out}", markup=False, soft_wrap=True)
        return INTERRUPTED
    return _show(finished, folder, as_json=as_json)


def made(
    config: Config, entry: EndpointConfig, scorer: Scorer, terms: Terms, told: Callable[[Round], None]
) -> Audit:
    """Make the audit of one endpoint."""
    name = str(entry.endpoint.reference)
    return Audit(
        endpoint=entry.endpoint, look=looking(scorer, tolerances_for(config.references[name], scorer.fingerprint)),
        detectors=[one for one in config.detectors if listens_to(one)],
        ask=questions(text_only=terms.text_only, chosen=known_prompts(scorer, name)),
        areas=visible(config.references[name]), alpha=terms.alpha, budget=terms.budget, clock=SystemClock(),
        vantage=config.vantage, version=version(), concurrency=config.agent.concurrency,
        told=told,
    )  # fmt: skip


def _keep(one: Audited, folder: Path) -> None:
    probed = Probed(endpoint=one.endpoint, records=one.records, captures=one.captures)
    verdicts = (one.verdict, *one.rounds[-1].verdicts)
    evidence_folder.keep_judged(folder, Judged(probed=probed, views=one.golden.views, verdicts=verdicts))


def _show(audited: Sequence[Audited], folder: Path, *, as_json: bool) -> int:
    rows = [audit_row(one) for one in audited]
    if as_json:
        show_json(rows)
    else:
        show(audit_table(rows))
        console = Console(stderr=True, highlight=False)
        for row in rows:
            console.print(f"{row['endpoint']}: {row['reason']}", markup=False, soft_wrap=True)
        console.print(f"evidence: {folder}; the same again, with the same configuration: "
                      f"weighmaster audit --from {folder}", markup=False,
                      soft_wrap=True)  # fmt: skip
    return exit_code([row["status"] for row in rows])


def _keeper(folder: Path, entry: EndpointConfig) -> Callable[[RunRecord, tuple[Capture, ...]], None]:
    def keep(record: RunRecord, captures: tuple[Capture, ...]) -> None:
        probed = Probed(endpoint=entry.endpoint, records=(record,), captures=(captures,))
        evidence_folder.keep_probed(folder, probed)

    return keep


def _teller(entry: EndpointConfig, console: Console) -> Callable[[Round], None]:
    """Make what shows the running evidence."""

    def tell(one: Round) -> None:
        what = ", ".join(f"{v.detector} {v.status}" for v in one.verdicts)
        nats = "none yet" if one.standing.log_e is None else f"{one.standing.log_e:.1f} nats"
        console.print(
            f"{entry.endpoint.name}: {one.spent.n_requests} requests, {one.spent.tokens} tokens, "
            f"evidence {nats}: {what}", markup=False, soft_wrap=True,
        )  # fmt: skip

    return tell
