"""Valid nouns with sensible defaults for tests of every package; name only what a test is about."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from monitor.codec import encode
from monitor.incident import Incident
from monitor.ports import Entry
from monitor.results import (
    Fingerprint,
    GoldenPosition,
    GoldenView,
    JudgedRun,
    Observation,
    Run,
    RunRecord,
    Verdict,
)
from monitor.slot import Slot
from monitor.types import Choice, Endpoint, Exchange, Request, TokenLogprob, TopToken

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_HI = "hi"
KINDS: dict[type[Any], str] = {
    Endpoint: "endpoint", RunRecord: "run", Slot: "slot", JudgedRun: "judged", Verdict: "verdict", Incident: "incident",
}  # fmt: skip


def minutes(n: float) -> datetime:
    """`START` plus n minutes."""
    return START + timedelta(minutes=n)


def endpoint(name: str = "lab/faithful", **changes: Any) -> Endpoint:
    fields: dict[str, Any] = {
        "name": name, "provider": name.partition("/")[0], "base_url": "http://127.0.0.1:1/v1", "model": "smollm2",
        "reference": "smollm2", "precision": "bf16",
    }  # fmt: skip
    return Endpoint(**{**fields, **changes})


def exchange(index: int = 0, *, run_id: str = "run-1", at: datetime = START, **changes: Any) -> Exchange:
    fields: dict[str, Any] = {
        "exchange_id": f"{run_id}.{index}", "run_id": run_id, "started_at": at, "outcome": "ok", "status": 200,
        "request": Request(
            prompt_id=f"p{index}", messages=({"role": "user", "content": "Say hi"},), max_tokens=4, top_logprobs=2
        ),
        "choices": (
            Choice(
                content="hi", finish="stop", finish_raw="stop",
                logprobs=(TokenLogprob(token=_HI, logprob=-0.25, top=(TopToken(token=_HI, logprob=-0.25),)),),
            ),
        ),
        "models": ("smollm2",), "done": True, "ttft_ms": 50.0 + index, "tpot_ms": 10.0, "tps": 100.0,
        "usage": {"prompt_tokens": 12, "completion_tokens": 1}, "flags": ("model_echo",),
    }  # fmt: skip
    return Exchange(**{**fields, **changes})


def run_record(
    run_id: str = "run-1",
    *,
    endpoint: str = "lab/faithful",
    probe: str = "speed",
    at: datetime = START,
    n: int = 2,
    observations: Iterable[Observation] | None = None,
    exchanges: Iterable[Exchange] | None = None,
    **changes: Any,
) -> RunRecord:
    """A run of n answered exchanges that started at `at` and measured ``ttft_ms``; `changes` are fields of the Run."""
    asked = tuple(exchange(i, run_id=run_id, at=at) for i in range(n)) if exchanges is None else tuple(exchanges)
    measured = (Observation(metric="ttft_ms", value=50.0, n=n),) if observations is None else tuple(observations)
    fields: dict[str, Any] = {
        "run_id": run_id, "endpoint": endpoint, "provider": endpoint.partition("/")[0], "model": "smollm2",
        "reference": "smollm2", "probe": probe, "probe_version": 1, "params_sha256": "0" * 64, "seed": 7,
        "vantage": "test", "prober_version": "0.1.0", "started_at": at, "finished_at": at + timedelta(seconds=2),
        "lag_ms": 0.5, "n_exchanges": len(asked), "n_answered": sum(e.answered for e in asked),
    }  # fmt: skip
    return RunRecord(run=Run(**{**fields, **changes}), exchanges=asked, observations=measured)


def slot(endpoint: str = "lab/faithful", probe: str = "speed", at: datetime = START, **changes: Any) -> Slot:
    fields: dict[str, Any] = {"endpoint": endpoint, "probe": probe, "slot_at": at, "state": "done", "run_id": "run-1"}
    return Slot(**{**fields, **changes})


def fingerprint(digest: str = "f" * 64) -> Fingerprint:
    return Fingerprint(
        digest=digest, weights_sha256="1" * 64, tokenizer_sha256="2" * 64, template_sha256="3" * 64, dtype="float32",
        engine="torch", versions={"torch": "2.13.0"},
    )  # fmt: skip


def golden_position(position: int = 0, **changes: Any) -> GoldenPosition:
    fields: dict[str, Any] = {
        "position": position, "token_id": 5, "golden_logprob": -0.3, "golden_rank": 0, "golden_entropy_nats": 1.1,
        "golden_top1_logprob": -0.3, "endpoint_logprob": -0.25, "endpoint_at_golden_top1": -0.25, "top1_same": True,
        "endpoint_top": (-0.25, -2.0), "golden_top": (-0.3, -1.9),
    }  # fmt: skip
    return GoldenPosition(**{**fields, **changes})


def judged(record: RunRecord, at: datetime | None = None, **changes: Any) -> JudgedRun:
    """What the golden side says of each exchange of `record`, an hour after it ended unless `at` is given."""
    views = tuple(
        GoldenView(exchange_id=e.exchange_id, run_id=e.run_id, prompt_tokens=12, positions=(golden_position(),))
        for e in record.exchanges
    )
    fields: dict[str, Any] = {
        "run_id": record.run.run_id, "endpoint": record.run.endpoint,
        "judged_at": at or record.run.finished_at + timedelta(hours=1), "fingerprint": fingerprint(), "views": views,
        "observations": (Observation(metric="kl_nats", value=0.01, n=len(views)),),
    }  # fmt: skip
    return JudgedRun(**{**fields, **changes})


def verdict(
    verdict_id: str = "verdict-1", *, endpoint: str = "lab/faithful", at: datetime = START, **changes: Any
) -> Verdict:
    fields: dict[str, Any] = {
        "verdict_id": verdict_id, "endpoint": endpoint, "detector": "logprob_fidelity", "detector_version": 1, "at": at,
        "status": "pass", "cause": None, "statistic": "tail-bucket KL", "effect": 0.004, "unit": "nats", "low": 0.002,
        "high": 0.006, "n": 40, "threshold": 0.02, "e_value": 0.1, "mde": 0.01, "band": "indistinguishable",
        "reason": "within what faithful engines do", "run_ids": ("run-1",), "fingerprint": "f" * 64,
        "details": {"prompts": 10},
    }  # fmt: skip
    return Verdict(**{**fields, **changes})


def incident(
    incident_id: str = "incident-1", *, endpoint: str = "lab/degraded", at: datetime = START, **changes: Any
) -> Incident:
    fields: dict[str, Any] = {
        "incident_id": incident_id, "endpoint": endpoint, "detector": "logprob_fidelity", "cause": "weights",
        "opened_at": at, "last_at": at, "closed_at": None, "n_verdicts": 1, "verdict_id": "verdict-1",
        "reason": "KL 0.2 nats above the threshold",
    }  # fmt: skip
    return Incident(**{**fields, **changes})


def packed(noun: object) -> tuple[str, bytes]:
    """(kind, data) of a noun, as a spool takes it."""
    return KINDS[type(noun)], encode(noun)


def entries(*nouns: object, start: int = 1) -> list[Entry]:
    """Entries of `nouns`, numbered from `start`."""
    numbers = count(start)
    return [Entry(next(numbers), *packed(noun)) for noun in nouns]
