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
from jobs.audit import Audited, listens_to
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
            ("endpoint", "audits", "fail", "right cause", "causes", "pass", "suspect", "undecided", "tokens to fail",
             "95% of audits", "right cause by then", "output tokens", "all tokens", "USD mean"), rows,
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
    wanted = EXPECTED.get(case.name)
    first = [failed for one in found if (failed := _first_fail(one)) is not None]
    spent = [one.rounds[-1].spent for one in found]
    return [
        case.name, n, status["fail"], causes[wanted] if wanted else None,
        ", ".join(f"{count} {cause}" for cause, count in causes.most_common()) or "–",
        status["pass"], status["suspect"], status["inconclusive"],
        int(np.median([tokens for tokens, _ in first])) if first else None,
        int(np.quantile([tokens for tokens, _ in first], 0.95)) if first else None,
        sum(cause == wanted for _, cause in first) if wanted else None,
        int(np.median([one.tokens_out for one in spent])), int(np.median([one.tokens for one in spent])),
        float(np.mean([one.usd or 0.0 for one in spent])),
    ]  # fmt: skip


def _first_fail(one: Audited) -> tuple[int, str] | None:
    """Output tokens and cause at the first round that failed."""
    for look in one.rounds:
        if look.standing.status == "fail":
            return look.spent.tokens_out, look.standing.cause.cause if look.standing.cause else ""
    return None


def _routed(share: float, records: Mapping[str, Recorded], mark: Fingerprint, detectors: Sequence[Any]) -> list[object]:
    found = [audited(mixed(share, seed, records, mark, detectors), seed, 60_000) for seed in range(AUDITS)]
    fails = [one for one in found if one.verdict.status == "fail"]
    requests = sorted(one.rounds[-1].spent.n_requests for one in fails)
    at_80 = math.ceil(0.8 * len(found))
    return [
        f"{share:.0%}", len(found), len(fails), sum(one.verdict.cause == "routing" for one in fails),
        int(np.median(requests)) if requests else None, requests[at_80 - 1] if len(requests) >= at_80 else None,
    ]  # fmt: skip
