"""What a store could say: scenes built from the real nouns, so that they change when the contract changes."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dashboard.store_reader import EndpointNow, Measured, Point
from monitor.types import Choice, Exchange, Incident, Outcome, Request, Status, Verdict

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that a fake store knows."""

    endpoints: tuple[EndpointNow, ...] = ()
    series: tuple[tuple[str, str, tuple[Point, ...]], ...] = ()
    exchanges: tuple[Exchange, ...] = ()


EMPTY = Scene()


def verdict(
    endpoint: str, detector: str, status: Status, *, cause: str | None = None, at: datetime = NOW, **changes: Any
) -> Verdict:
    """A plausible verdict of one of the three detectors."""
    shapes: dict[str, dict[str, Any]] = {
        "availability": {
            "statistic": "share answered (beta-binomial interval)", "effect": 0.98, "unit": "", "low": 0.93,
            "high": 0.995, "n": 100, "threshold": 0.95, "details": {"outcomes": {"ok": 98, "http_5xx": 2}},
            "reason": "98 of 100 requests brought a complete answer.",
        },
        "accounting": {
            "statistic": "billed - golden prompt tokens", "effect": 0.0, "unit": "tokens", "low": 0.0, "high": 0.0,
            "n": 60, "threshold": 0.0, "details": {"delta": {"0": 60}},
            "reason": "Billed prompt tokens equal the golden count in 60 of 60 requests.",
        },
        "logprob_fidelity": {
            "statistic": "mean KL(golden || endpoint)", "effect": 0.0041, "unit": "nats", "low": 0.0032, "high": 0.0052,
            "n": 240, "threshold": 0.012, "e_value": 0.02, "mde": 0.004, "band": "indistinguishable",
            "details": {"pass_nats": 0.012, "fail_nats": 0.045, "top1_same": 0.991, "mean_abs_dlp": 0.031},
            "reason": "The distributions are no further from the golden weights than faithful engines are.",
        },
    }  # fmt: skip
    made = Verdict(
        verdict_id=f"v-{endpoint}-{detector}", endpoint=endpoint, detector=detector, detector_version=1, at=at,
        status=status, cause=cause, run_ids=("run-0007", "run-0008", "run-0009", "run-0010"),
        fingerprint="9f86d081884c7d659a2feaa0c55ad015", **shapes[detector],
    )  # fmt: skip
    return replace(made, **changes)


def points(
    value: float, *, n: int, until: datetime, seed: int, spread: float = 0.12, gaps: bool = False
) -> tuple[Point, ...]:
    """A smooth made-up series of `n` minutes with intervals, and with gaps where asked."""
    made = []
    for index in range(n):
        wave = value * (1 + spread * math.sin(seed + index / 5) + spread / 2 * math.cos(3 * index + seed))
        lost = gaps and index % 17 == 11
        made.append(
            Point(
                at=until - timedelta(minutes=n - index),
                value=None if lost else wave,
                low=None if lost else wave * (1 - spread),
                high=None if lost else wave * (1 + spread),
                n=0 if lost else 12,
            )
        )
    return tuple(made)


def exchange(
    index: int, *, outcome: Outcome = "ok", content: str = "Four.", at: datetime = NOW, **changes: Any
) -> Exchange:
    """One exchange; those that failed carry no timings."""
    ok = outcome in {"ok", "ok_length"}
    made = Exchange(
        exchange_id=f"x-{index:04}", run_id=f"run-{index // 10:04}",
        request=Request(prompt_id=f"sum-{index % 5}", messages=({"role": "user", "content": "2 + 2?"},), max_tokens=16),
        started_at=at - timedelta(seconds=30 * index), outcome=outcome, status=200 if ok else None,
        choices=(Choice(content=content, finish="stop"),) if ok else (),
        ttft_ms=41.0 + index if ok else None, tps=88.0 - index / 3 if ok else None,
        tokens_golden=7 if ok else None, tokens_from="golden" if ok else None,
    )  # fmt: skip
    return replace(made, **changes)


def endpoint(name: str, *verdicts: Verdict, at: datetime | None = NOW, **changes: Any) -> EndpointNow:
    """An endpoint with plausible figures."""
    made = EndpointNow(
        endpoint=name, provider=name.split("/", maxsplit=1)[0], model="smollm2-135m-instruct", reference="smollm2-135m",
        precision="bf16", last_run_at=at, verdicts=verdicts,
        metrics={
            "ttft_ms_p50": Measured(value=43.2, n=96, at=at), "tps_p50": Measured(value=87.4, n=96, at=at),
            "success_rate": Measured(value=0.98, n=100, k=98, at=at), "kl_nats": Measured(value=0.0041, n=240, at=at),
            "prompt_token_match": Measured(value=1.0, n=60, k=60, at=at),
        },
    )  # fmt: skip
    return replace(made, **changes)


def full(now: datetime = NOW) -> Scene:
    """The lab after an hour: one faithful endpoint and three kinds of trouble."""
    far = {
        "effect": 0.312, "low": 0.251, "high": 0.382, "e_value": 1.2e5, "band": "below declared precision",
        "reason": "The distributions are further from the golden weights than any faithful bf16 engine is: "
        "0.312 nats where at most 0.045 is explained by rounding.",
        "details": {"pass_nats": 0.012, "fail_nats": 0.045, "top1_same": 0.86, "mean_abs_dlp": 0.41},
    }  # fmt: skip
    shifted = {
        "effect": 21.0, "low": 21.0, "high": 21.0, "details": {"delta": {"21": 60}},
        "reason": "Every request is billed 21 prompt tokens more than the golden template gives: a hidden system prompt.",
    }  # fmt: skip
    down = {
        "effect": 0.61, "low": 0.51, "high": 0.70, "reason": "61 of 100 requests brought a complete answer.",
        "details": {"outcomes": {"ok": 61, "truncated": 20, "stalled": 12, "http_5xx": 7}},
    }  # fmt: skip
    none = {
        "effect": None, "low": None, "high": None, "n": 0, "e_value": None, "mde": None, "band": None,
        "reason": "The endpoint returned no logprobs, so the distributions could not be compared.",
    }  # fmt: skip
    bad, wrong, faulty = "lab/degraded", "lab/misconfigured", "lab/faulty"
    broken = verdict(bad, "logprob_fidelity", "fail", cause="weights", at=now, **far)
    opened = Incident(
        incident_id="i-1", endpoint=bad, detector="logprob_fidelity", cause="weights",
        opened_at=now - timedelta(minutes=52), last_at=now, closed_at=None, n_verdicts=9,
        verdict_id=broken.verdict_id, reason="KL 0.312 nats, band 0.045 nats",
    )  # fmt: skip
    endpoints = (
        endpoint(
            bad, verdict(bad, "availability", "pass", at=now), verdict(bad, "accounting", "pass", at=now), broken,
            at=now - timedelta(seconds=42), incidents=(opened,),
        ),
        endpoint(
            "lab/faithful", *(verdict("lab/faithful", name, "pass", at=now) for name in
                              ("availability", "accounting", "logprob_fidelity")), at=now - timedelta(seconds=8),
        ),
        endpoint(
            faulty, verdict(faulty, "availability", "fail", cause="stream", at=now, **down),
            verdict(faulty, "accounting", "pass", at=now),
            verdict(faulty, "logprob_fidelity", "inconclusive", cause="no_logprobs", at=now, **none),
            at=now - timedelta(minutes=3),
        ),
        endpoint(
            wrong, verdict(wrong, "availability", "pass", at=now),
            verdict(wrong, "accounting", "fail", cause="template", at=now, **shifted),
            verdict(wrong, "logprob_fidelity", "suspect", cause="template", at=now, effect=0.03, low=0.011, high=0.06),
            at=now - timedelta(hours=2),
        ),
        endpoint("lab/new", at=None, metrics={}),
    )  # fmt: skip
    series = tuple(
        (name, metric, points(value, n=60, until=now, seed=seed, gaps=name == faulty))
        for seed, name in enumerate((bad, "lab/faithful", faulty, wrong))
        for metric, value in (("ttft_ms_p50", 43.0), ("tps_p50", 87.0), ("kl_nats", 0.3 if name == bad else 0.004))
    )
    endings: tuple[Outcome, ...] = ("ok",) * 5 + ("rate_limited", "ok", "stalled", "ok_length", "ok")
    exchanges = tuple(
        exchange(index, outcome=endings[index % 10], at=now, flags=("usage_missing",) if index % 7 == 3 else ())
        for index in range(50)
    )
    return Scene(endpoints=endpoints, series=series, exchanges=exchanges)


def one_point(now: datetime = NOW) -> Scene:
    """After the very first run: one point per series, one exchange, one verdict."""
    name = "lab/faithful"
    only = Point(at=now - timedelta(minutes=1), value=43.0, n=1)
    return Scene(
        endpoints=(endpoint(name, verdict(name, "availability", "inconclusive", at=now, n=1), at=now),),
        series=tuple(
            (name, metric, (replace(only, value=value),))
            for metric, value in (("ttft_ms_p50", 43.0), ("tps_p50", 87.0), ("kl_nats", 0.004))
        ),
        exchanges=(exchange(0, at=now),),
    )
