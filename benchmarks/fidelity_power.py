"""Power against output tokens: each detector on real endpoints, and the published text test on the same endpoints.

The curves of detectors come from audits that do not stop. MMD is the stratified test of `monitor.stats.mmd` with the
Hamming kernel, six answers to each prompt against twelve golden ones (arXiv 2410.20247 with its permutation corrected).
Tracking asks one prompt for one token with logprobs, n times before and n times after a change from F16, and permutes
(the published test of a change; it needs a right start). llama.cpp repeats itself exactly, so one answer stands for n.
Writes the picture to docs/power.svg.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.fidelity_audits import ALPHA, Case, audited, case_of
from benchmarks.fidelity_records import SAMPLE_TOKENS, Recorded, many, recorded
from benchmarks.power_picture import Curve, svg
from benchmarks.report import Report
from jobs.audit import listens_to
from jobs.golden import default_home, ensure_golden
from jobs.settings import catalogues
from monitor.stats.mmd import hamming_kernel, stratified_mmd

NAME = "fidelity-power"
ENDPOINTS = ("Q8_0", "Q5_0", "Q4_0", "kv-4", "T 0.7")
MOST_REPEATS = 12
AUDITS = 20
NEVER = 1e-290
PAD = -1
LABELS = {
    "logprob_fidelity": "KL of 20 logprobs", "logprob_profile": "KL profile", "greedy_flips": "greedy flips, text",
    "sampler": "sampler, text", "mmd": "MMD, text (published test)",
    "tracking": "one token tracked since a right start (published test)",
}  # fmt: skip


def run(report: Report) -> None:
    """Print how many output tokens 80% power takes, and draw all curves."""
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

    home = default_home(os.environ)
    golden = ensure_golden(home, report.note)
    scorer = TorchEngine.load(golden, device="cpu", threads=1)
    folder = home / "fidelity" / scorer.fingerprint.digest[:12]
    detectors = [one for kind in (catalogues().detectors or {}).values() if listens_to(one := kind())]
    panels: dict[str, list[Curve]] = {}
    start = recorded("F16", folder, home, scorer, report.note)
    for name in ENDPOINTS:
        record = recorded(name, folder, home, scorer, report.note)
        listed, text = (
            replace(case_of(record, scorer.fingerprint, detectors, text_only=by_text), precision="f16")
            for by_text in (False, True)
        )
        panels[name] = [
            *_curves(listed, ("logprob_fidelity", "logprob_profile")), *_curves(text, ("greedy_flips", "sampler")),
            _mmd(many(name, folder, home, scorer, report.note)), _tracking(start, record),
        ]  # fmt: skip
    rows = [[name, *(one.tokens_to(0.8) for one in curves)] for name, curves in panels.items()]
    report.table(
        f"Output tokens to 80% power at alpha {ALPHA} ({AUDITS} audits)", ("endpoint", *LABELS.values()), rows
    )
    path = Path("docs/power.svg")
    path.write_text(svg(panels), "utf-8")
    report.note(f"Picture: {path}")


def _curves(case: Case, kinds: Sequence[str]) -> list[Curve]:
    """Power of each detector by the output tokens of the probe that feeds it."""
    probe = {kind: "sample" if kind == "sampler" else "greedy" for kind in kinds}
    found: dict[str, list[list[tuple[int, bool]]]] = {kind: [] for kind in kinds}
    for seed in range(AUDITS):
        audit = audited(case, seed, 60_000, alpha=NEVER)
        steps = list(zip(audit.rounds, (record.run.probe for record in audit.records), strict=True))
        for kind in kinds:
            path: list[tuple[int, bool]] = []
            spent = before = 0
            for one, fed in steps:
                if fed == probe[kind]:
                    spent += one.spent.tokens_out - before
                    failed = any(v.detector == kind and v.status == "fail" for v in one.verdicts)
                    path.append((spent, failed or bool(path and path[-1][1])))
                before = one.spent.tokens_out
            found[kind].append(path)
    return [Curve.of(LABELS[kind], found[kind]) for kind in kinds]


def _mmd(answers: tuple[Sequence[Sequence[Sequence[int]]], Sequence[Sequence[Sequence[int]]]]) -> Curve:
    """Power of the text test by the output tokens of the endpoint: more prompts, six answers to each."""
    served, golden = answers
    rng = np.random.default_rng(7)
    kernels = [hamming_kernel(_padded([*some, *others])) for some, others in zip(served, golden, strict=True)]
    paths = []
    for _ in range(AUDITS):
        order, path = rng.permutation(len(kernels)), []
        for n in range(2, len(kernels) + 1, 2):
            chosen = [int(at) for at in order[:n]]
            test = stratified_mmd(
                [kernels[at] for at in chosen], [len(served[at]) for at in chosen], alpha=ALPHA, rng=rng,
                n_permutations=4999,
            )  # fmt: skip
            path.append((sum(len(ids) for at in chosen for ids in served[at]), test.p_value <= ALPHA))
        paths.append(path)
    return Curve.of(LABELS["mmd"], paths)


def _tracking(before: Recorded, after: Recorded) -> Curve:
    """Power of the test of a change by the tokens after it: a permutation p of 2 / C(2n, n) once answers differ."""
    usual, now = _first_logprobs(before), _first_logprobs(after)
    paths = [
        [(n, usual[name] != now[name] and 2 / math.comb(2 * n, n) <= ALPHA) for n in range(1, MOST_REPEATS + 1)]
        for name in usual.keys() & now.keys()
    ]
    return Curve.of(LABELS["tracking"], paths)


def _first_logprobs(one: Recorded) -> dict[str, dict[str, float | None]]:
    """Logprobs that are listed for the first token of each greedy answer, by prompt."""
    greedy = [each for each in one.record.exchanges if each.exchange_id.startswith("greedy")]
    return {
        each.exchange_id: {top.token: top.logprob for top in each.choice.logprobs[0].top}
        for each in greedy if each.answered and each.choice.logprobs
    }  # fmt: skip


def _padded(answers: Sequence[Sequence[int]]) -> np.ndarray:
    table = np.full((len(answers), SAMPLE_TOKENS), PAD, dtype=np.int64)
    for row, ids in zip(table, answers, strict=True):
        row[: min(len(ids), SAMPLE_TOKENS)] = ids[:SAMPLE_TOKENS]
    return table
