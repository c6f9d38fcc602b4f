"""A small world: four endpoints of one model, of which one serves 4 bits, one fails, and one was never judged."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from jobs.evidence_folder import keep_judged, keep_probed
from jobs.pipeline import Judged, Probed
from monitor.comparison import Ladder, Rung
from monitor.comparison_gather import Measured, gathered
from monitor.incident import Incident
from monitor.ports import Entry
from monitor.results import GoldenView, JudgedRun, Observation, RunRecord, Verdict
from monitor.types import Capture, Choice, Endpoint, Read
from monitor.wire.dispatch import decode
from storage.store import DuckStore
from tests.storage.factories import START, endpoint, entries, exchange, fingerprint, judged, run_record, verdict

FINGERPRINT = fingerprint()

HOSTILE = (
    "<script>alert(1)</script> ![x](http://evil.example/p.png) [a](javascript:1) \x1b[31mred\x1b[0m "
    "\u202egnp.exe\u202c =HYPERLINK(1) | `code` ```` https://evil.example @all"
)
"""What an endpoint may say: scripts, images, terminal codes, text that turns, formulas, fences."""


def speeds(name: str, ttft_ms: float, tps: float, *, runs: int = 8, failing: int = 0) -> list[RunRecord]:
    """Hourly runs of `speed`, 4 requests each, the first `failing` of them cut off."""
    found = []
    for hour in range(runs):
        at, run_id = START + timedelta(hours=hour), f"{name}-speed-{hour}"
        asked = [
            exchange(
                index, run_id=run_id, at=at + timedelta(seconds=index), ttft_ms=ttft_ms + hour, tps=tps + hour,
                measurement="valid", reused=True, flags=(),
                **({"outcome": "truncated", "done": False} if index < failing else {}),
            )
            for index in range(4)
        ]  # fmt: skip
        measured = [Observation(metric="ttft_ms_p50", value=ttft_ms + hour, n=4),
                    Observation(metric="tps_p50", value=tps + hour, n=4)]  # fmt: skip
        found.append(run_record(run_id, endpoint=name, at=at, exchanges=asked, observations=measured))
    return found


def logprobs(name: str, *, said: str = "fine", at: datetime = START) -> RunRecord:
    """One run of `logprobs` with two answers."""
    run_id = f"{name}-logprobs"
    asked = [exchange(i, run_id=run_id, at=at, choices=(Choice(content=said, finish="stop"),)) for i in range(2)]
    return run_record(run_id, endpoint=name, probe="logprobs", at=at, exchanges=asked, observations=[])


def told(name: str, status: Any, effect: float, low: float, high: float, **changes: Any) -> Verdict:
    """A verdict of logprob_fidelity on the run of `logprobs`."""
    fields: dict[str, Any] = {
        "verdict_id": f"{name}-kl".replace("/", "-"), "endpoint": name, "at": START + timedelta(hours=9),
        "status": status, "cause": None if status == "pass" else "weights", "statistic": "kl_nats", "effect": effect,
        "low": low, "high": high, "threshold": 0.002, "n": 133, "run_ids": (f"{name}-logprobs",),
        "reason": f"mean KL {effect:.2g} nats", "details": {"top_k": 20, "fail_nats": 0.02, "pass_nats": 0.002},
    }  # fmt: skip
    return verdict(**{**fields, **changes})


def world(said: str = "fine") -> list[Measured]:
    """What is known of four endpoints; `said` is what the degraded one answers."""
    good, bad = "acme/m", "bargain/m"
    price = {"price_in_usd": 0.2, "price_out_usd": 0.6}
    earlier = told(bad, "fail", 0.25, 0.2, 0.3, verdict_id="bargain-m-earlier", at=START + timedelta(hours=3))
    passed = told(bad, "pass", 0.001, 0.0005, 0.0015, verdict_id="bargain-m-passed", at=START + timedelta(hours=1))
    named = verdict(
        "bargain-m-identify", endpoint=bad, detector="identify", at=START + timedelta(hours=9), status="fail",
        cause="weights: Q4_0", statistic="coarser_posterior", effect=0.9999, unit="share", low=0.9999, high=1.0, n=16,
        threshold=0.99, reason="what is served is Q4_0", run_ids=(), details={
            "schemes": [{"name": "Q4_0", "family": "4-bit", "posterior": 0.9999, "twins": []}], "share": 0.97,
            "share_low": 0.82, "share_high": 1.0, "n_prompts": 16,
        },
    )  # fmt: skip
    broken = [*speeds("corner/m", 700.0, 20.0, failing=2), logprobs("corner/m")]
    unreliable = verdict(
        "corner-m-availability", endpoint="corner/m", detector="availability", at=START + timedelta(hours=9),
        status="fail", cause="truncated", statistic="availability", effect=0.5, unit="share", low=0.3, high=0.7,
        n=16, threshold=0.95, reason="8 of 16 exchanges good; 8 x truncated", run_ids=(), details={"k": 8},
    )  # fmt: skip
    return [
        known(
            endpoint(good, **price), [*speeds(good, 300.0, 60.0), logprobs(good)],
            [told(good, "pass", 1e-5, 8e-6, 2e-5)],
        ),
        known(
            endpoint(bad, price_in_usd=0.1, price_out_usd=0.3), [*speeds(bad, 200.0, 90.0), logprobs(bad, said=said)],
            [told(bad, "fail", 0.24, 0.19, 0.3), earlier, passed, named],
        ),
        known(endpoint("corner/m"), broken, [unreliable]),
        known(endpoint("dusk/m"), [], []),
    ]  # fmt: skip


def known(declared: Endpoint, records: list[RunRecord], verdicts: list[Verdict]) -> Measured:
    """An endpoint with its runs, golden views of all of them, and verdicts."""
    views: dict[str, GoldenView] = {}
    for record in records:
        views |= {view.exchange_id: view for view in golden_side(record).views}
    return Measured(
        endpoint=declared, records=records, verdicts=verdicts, views=views,
        fingerprint=FINGERPRINT if records else None,
    )  # fmt: skip


def golden_side(record: RunRecord) -> JudgedRun:
    """What the golden side says of a run."""
    return judged(record, fingerprint=FINGERPRINT)


def facts(said: str = "fine") -> list[Any]:
    """Facts of the whole world."""
    return [gathered(one) for one in world(said)]


def filled(path: Path, said: str = "fine", *more: Incident) -> DuckStore:
    """A store that holds the world, and `more`."""
    store = DuckStore(path)
    nouns: list[object] = []
    for one in world(said):
        nouns += [one.endpoint, *one.records, *(golden_side(record) for record in one.records), *one.verdicts]
    given: list[Entry] = entries(*nouns, *more)
    store.ingest("test", given)
    return store


def folder(path: Path, said: str = "fine") -> Path:
    """Evidence of two endpoints as `weighmaster probe` keeps it: one passes, one fails and answers `said`."""
    good, bad = told("acme/m", "pass", 1e-5, 8e-6, 2e-5), told("bargain/m", "fail", 0.24, 0.19, 0.3)
    kept(path, endpoint("acme/m", price_in_usd=0.2, price_out_usd=0.6), "Hello.", good)
    kept(path, endpoint("bargain/m", price_in_usd=0.1, price_out_usd=0.3), said, bad)
    return path


def kept(path: Path, declared: Endpoint, said: str, *verdicts: Verdict) -> None:
    """One run of `logprobs` of an endpoint that answers `said` eight times, with captures and verdicts."""
    run_id = f"{declared.name}-logprobs".replace("/", "-")
    body = orjson.dumps(
        {
            "id": "1", "object": "chat.completion", "model": declared.model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        }
    )  # fmt: skip
    captures = tuple(
        Capture(protocol="openai_chat", status=200, reads=(Read(5 * 10**6, body),), t0_ns=0, eof_ns=6 * 10**6)
        for _ in range(8)
    )
    decoded = [replace(decode(one), exchange_id=f"{run_id}-{i}", run_id=run_id) for i, one in enumerate(captures)]
    record = run_record(
        run_id, endpoint=declared.name, probe="logprobs", exchanges=decoded, observations=[], vantage="fra"
    )
    probed = Probed(endpoint=declared, records=(record,), captures=(captures,))
    keep_probed(path, probed)
    views = {one.exchange_id: one for one in golden_side(record).views}
    on_it = tuple(replace(one, run_ids=(run_id,)) for one in verdicts)
    keep_judged(path, Judged(probed=probed, views=views, verdicts=on_it))


LADDER = Ladder(
    rungs=(
        Rung(name="llama.cpp F16", faithful=True, value=5e-6, low=4e-6, high=6e-6),
        Rung(name="Q8_0", faithful=False, value=0.0042, low=0.003, high=0.005),
        Rung(name="Q4_0", faithful=False, value=0.258, low=0.2, high=0.32),
    ),
    tolerance=0.0013, n_prompts=32, at=START, weights_sha256=FINGERPRINT.weights_sha256,
)  # fmt: skip
