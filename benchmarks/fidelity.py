"""Audits of real endpoints with known faults: how often each is found, under which name, and what that costs.

Every endpoint is a real llama.cpp server on the small real model. Its answers are recorded once; audits then draw their
prompts from the record, so that hundreds of them take minutes. `benchmarks/fidelity_records.py` says what is asked.
"""

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.fidelity_audits import ALPHA, Case, audited, case_of, mixed
from benchmarks.fidelity_records import ENGINES, SETTINGS, Recorded, recorded
from benchmarks.report import Report
from jobs.audit import listens_to
from jobs.golden import default_home, ensure_golden
from jobs.settings import catalogues
from monitor.results import Fingerprint

NAME = "fidelity"
AUDITS, FAITHFUL_AUDITS = 20, 200
EXPECTED = {
    "Q4_0": "weights", "Q2_K": "weights", "kv-4": "kv_cache", "rope-x0.1": "kv_cache", "no-system": "template",
    "other-template": "template", "merges-50%": "tokenizer", **dict.fromkeys(SETTINGS, "sampler"),
}  # fmt: skip
SHARES = (0.2, 0.1)


def run(report: Report) -> None:
    """Record what is missing, then audit."""
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

    home = default_home(os.environ)
    golden = ensure_golden(home, report.note)
    scorer = TorchEngine.load(golden, device="cpu", threads=1)
    folder = home / "fidelity" / scorer.fingerprint.digest[:12]
    names = [*ENGINES, *EXPECTED]
    records = {name: recorded(name, folder, home, scorer, report.note) for name in names}
    detectors = [one for kind in (catalogues().detectors or {}).values() if listens_to(one := kind())]
    for text_only in (False, True):
        rows = [_row(case_of(one, scorer.fingerprint, detectors, text_only=text_only)) for one in records.values()]
        report.table(
            f"Audits at alpha {ALPHA}, {'text only' if text_only else 'with 20 logprobs'}; tokens are medians",
            ("endpoint", "audits", "fail", "right cause", "causes", "suspect", "pass", "undecided", "output tokens",
             "95% of audits", "all tokens", "USD mean"), rows,
        )  # fmt: skip
    report.table(
        f"A share of the requests goes to Q4_0, with 20 logprobs, alpha {ALPHA}",
        ("share", "audits", "fail", "named routing", "median requests", "80% within"),
        [_routed(share, records, scorer.fingerprint, detectors) for share in SHARES],
    )


def _row(case: Case) -> list[object]:
    faithful = case.name in ENGINES
    n = FAITHFUL_AUDITS if faithful else AUDITS
    found = [audited(case, seed, 12_000) for seed in range(n)]
    status = Counter(one.verdict.status for one in found)
    causes = Counter(str(one.verdict.cause) for one in found if one.verdict.status == "fail")
    out = np.array([one.rounds[-1].spent.tokens_out for one in found])
    everything = np.array([one.rounds[-1].spent.tokens for one in found])
    usd = [one.rounds[-1].spent.usd or 0.0 for one in found]
    return [
        case.name, n, status["fail"], None if faithful else causes[EXPECTED[case.name]],
        ", ".join(f"{count} {cause}" for cause, count in causes.most_common()) or "–",
        status["suspect"], status["pass"], status["inconclusive"], int(np.median(out)), int(np.quantile(out, 0.95)),
        int(np.median(everything)),
        float(np.mean(usd)),
    ]  # fmt: skip


def _routed(share: float, records: Mapping[str, Recorded], mark: Fingerprint, detectors: Sequence[Any]) -> list[object]:
    found = [audited(mixed(share, seed, records, mark, detectors), seed, 60_000) for seed in range(AUDITS)]
    fails = [one for one in found if one.verdict.status == "fail"]
    requests = sorted(one.rounds[-1].spent.n_requests for one in fails)
    at_80 = math.ceil(0.8 * len(found))
    return [
        f"{share:.0%}", len(found), len(fails), sum(one.verdict.cause == "routing" for one in fails),
        int(np.median(requests)) if requests else None, requests[at_80 - 1] if len(requests) >= at_80 else None,
    ]  # fmt: skip
