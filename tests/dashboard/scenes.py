"""What a store could hold: scenes of real nouns, as writers would have sent them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.incident import Incident
from monitor.results import Observation, Run, RunRecord, Status, Verdict
from monitor.types import Choice, Endpoint, Exchange, Outcome, Request
from tests.dashboard.store import Record

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
FAITHFUL, DEGRADED, MISCONFIGURED, FAULTY, NEW = (
    "lab/faithful", "lab/degraded", "lab/misconfigured", "lab/faulty", "lab/new",
)  # fmt: skip

SHAPES: dict[str, dict[str, Any]] = {
    "availability": {
        "statistic": "availability", "effect": 0.98, "unit": "share", "low": 0.93, "high": 0.995, "n": 100,
        "threshold": 0.95, "details": {"faults": {"http_5xx": 2}, "k": 98},
        "reason": "98 of 100 exchanges good; 2 x http_5xx",
    },
    "accounting": {
        "statistic": "prompt_token_match", "effect": 1.0, "unit": "share", "low": 0.94, "high": 1.0, "n": 60,
        "threshold": 1.0, "details": {"k": 60, "deltas": {}},
        "reason": "all 60 prompt-token counts equal the golden count",
    },
    "logprob_fidelity": {
        "statistic": "kl_nats", "effect": 0.0041, "unit": "nats", "low": 0.0032, "high": 0.0052, "n": 240,
        "threshold": 0.012, "mde": 0.004, "band": "indistinguishable",
        "details": {"pass_nats": 0.012, "fail_nats": 0.045, "top1_same": 238, "mean_abs_dlp": 0.031},
        "reason": "mean KL 0.0041 nats (0.0032 to 0.0052) over 240 positions of 24 prompts; bf16 allows 0.012",
    },
}  # fmt: skip


def endpoint(name: str) -> Endpoint:
    """A declared endpoint."""
    return Endpoint(
        name=name, provider=name.split("/", maxsplit=1)[0], base_url="http://127.0.0.1:1/v1",
        model="smollm2-135m-instruct", reference="smollm2-135m", precision="bf16",
    )  # fmt: skip


def verdict(name: str, detector: str, status: Status, *, cause: str | None = None, **changes: Any) -> Verdict:
    """A plausible verdict of one of the three detectors."""
    made = Verdict(
        verdict_id=f"v-{name}-{detector}", endpoint=name, detector=detector, detector_version=1, at=NOW, status=status,
        cause=cause, run_ids=("r-0007", "r-0008", "r-0009", "r-0010"), fingerprint="9f86d081884c7d659a2feaa0c55ad015",
        **SHAPES[detector],
    )  # fmt: skip
    return replace(made, **changes)


def exchange(index: int, *, outcome: Outcome = "ok", content: str = "Four.", **changes: Any) -> Exchange:
    """One exchange; those that failed carry no timings."""
    ok = outcome in {"ok", "ok_length"}
    made = Exchange(
        exchange_id=f"x-{index:04}",
        request=Request(prompt_id=f"sum-{index % 5}", messages=({"role": "user", "content": "2 + 2?"},), max_tokens=16),
        started_at=NOW, outcome=outcome, status=200 if ok else None,
        choices=(Choice(content=content, finish="stop"),) if ok else (),
        ttft_ms=41.0 + index if ok else None, tps=88.0 - index / 3 if ok else None,
        tokens_golden=7 if ok else None, tokens_from="golden" if ok else None,
    )  # fmt: skip
    return replace(made, **changes)


def run(name: str, run_id: str, at: datetime, observations: Sequence[Observation], *exchanges: Exchange) -> RunRecord:
    """A finished run."""
    return RunRecord(
        run=Run(
            run_id=run_id, endpoint=name, provider="lab", model="m", reference="smollm2-135m", probe="speed",
            probe_version=1, params_sha256="0" * 64, seed=1, vantage="test", prober_version="0", started_at=at,
            finished_at=at, n_exchanges=len(exchanges), n_answered=len(exchanges),
        ),
        exchanges=tuple(replace(exchange, run_id=run_id, started_at=at) for exchange in exchanges),
        observations=tuple(observations),
    )  # fmt: skip


def observations(index: int, kl: float) -> tuple[Observation, ...]:
    """The metrics of the `index`-th run, on smooth made-up curves."""
    wave = 1 + 0.12 * math.sin(index / 5) + 0.05 * math.cos(3 * index)
    return (
        Observation(metric="ttft_ms_p50", value=43 * wave, n=5),
        Observation(metric="tps_p50", value=87 * wave, n=5),
        Observation(metric="success_rate", value=0.8, n=5, k=4),
        Observation(metric="kl_nats", value=kl * wave, n=48),
        Observation(metric="prompt_token_match", value=1.0, n=5, k=5),
    )


def history(name: str, now: datetime, *, kl: float, outcomes: Sequence[Outcome] = ("ok",)) -> list[Record]:
    """An hour of runs, one a minute, one exchange each."""
    n = 60
    return [
        (
            "run",
            run(
                name, f"{name}-{index:04}", now - timedelta(minutes=n - index), observations(index, kl),
                exchange(index, exchange_id=f"{name}-x-{index:04}", outcome=outcomes[index % len(outcomes)]),
            ),
        )
        for index in range(n)
    ]  # fmt: skip


def all_pass(name: str, now: datetime, *but: Verdict) -> list[Record]:
    """Passing verdicts of all three detectors, except where `but` has another."""
    changed = {verdict.detector: verdict for verdict in but}
    return [("verdict", replace(changed.get(detector, verdict(name, detector, "pass")), at=now)) for detector in SHAPES]


def incident(now: datetime) -> Incident:
    """The open incident of the degraded endpoint."""
    return Incident(
        incident_id="i-1", endpoint=DEGRADED, detector="logprob_fidelity", cause="weights",
        opened_at=now - timedelta(minutes=52), last_at=now, closed_at=None, n_verdicts=9,
        verdict_id="v-1", reason="mean KL 0.31 nats; bf16 allows 0.012",
    )  # fmt: skip


def full(now: datetime = NOW) -> list[Record]:
    """The lab after an hour: one faithful endpoint, three kinds of trouble and one that never ran."""
    broken = verdict(
        DEGRADED, "logprob_fidelity", "fail", cause="weights", effect=0.312, low=0.251, high=0.382,
        band="below declared precision", e_value=1.2e5,
        reason="mean KL 0.31 nats (95% interval 0.25 to 0.38) over 240 positions of 24 prompts; bf16 allows 0.012",
    )  # fmt: skip
    shifted = verdict(
        MISCONFIGURED, "accounting", "fail", cause="template", effect=0.0, low=0.0, high=0.06,
        details={"k": 0, "deltas": {"+21": 60}},
        reason="60 of 60 prompt-token counts differ from golden's, 21 tokens more (e.g. sum-1: 52 instead of 31)",
    )  # fmt: skip
    doubtful = verdict(
        MISCONFIGURED, "logprob_fidelity", "suspect", cause="template", effect=0.03, low=0.013, high=0.06
    )
    down = verdict(
        FAULTY, "availability", "fail", cause="truncated, stalled", effect=0.61, low=0.51, high=0.70,
        details={"faults": {"truncated": 20, "stalled": 19}, "k": 61},
        reason="61 of 100 exchanges good; 20 x truncated, 19 x stalled",
    )  # fmt: skip
    unmeasured = verdict(
        FAULTY, "logprob_fidelity", "inconclusive", cause="no_logprobs", effect=None, low=None, high=None, n=0,
        mde=None, band=None, details={}, reason="0 prompts comparable, 8 needed: the endpoint returns no logprobs",
    )  # fmt: skip
    faults: tuple[Outcome, ...] = ("ok", "ok", "rate_limited", "stalled", "ok_length", "truncated", "ok")
    return [
        *(("endpoint", endpoint(name)) for name in (DEGRADED, FAITHFUL, FAULTY, MISCONFIGURED, NEW)),
        *history(DEGRADED, now, kl=0.3), *all_pass(DEGRADED, now, broken), ("incident", incident(now)),
        *history(FAITHFUL, now, kl=0.004), *all_pass(FAITHFUL, now),
        *history(FAULTY, now - timedelta(hours=2), kl=0.004, outcomes=faults),
        *all_pass(FAULTY, now, down, unmeasured),
        *history(MISCONFIGURED, now, kl=0.03), *all_pass(MISCONFIGURED, now, shifted, doubtful),
    ]  # fmt: skip


def one_point(now: datetime = NOW) -> list[Record]:
    """After the very first run: one value per metric, one exchange, one verdict."""
    first = run(FAITHFUL, "r-1", now - timedelta(minutes=1), observations(0, 0.004), exchange(0))
    undecided = verdict(FAITHFUL, "availability", "inconclusive", effect=1.0, low=0.2, high=1.0, n=1, at=now)
    return [("endpoint", endpoint(FAITHFUL)), ("run", first), ("verdict", undecided)]
