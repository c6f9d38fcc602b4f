"""Evidence that pages open in depth: answers with logprobs beside golden, captures, an identification, tool calls.

Numbers come from the real decoder and the real detectors, so that pages show what a judge would have written.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import orjson

from monitor.detectors.logprob_fidelity import LogprobFidelity
from monitor.kept import KeptCapture
from monitor.results import Evidence, GoldenPosition, GoldenView, JudgedRun, Run, RunRecord, Verdict
from monitor.types import Capture, Endpoint, Exchange, Read, Request
from monitor.wire.capture_file import dump
from monitor.wire.dispatch import decode
from tests.storage.factories import fingerprint

Record = tuple[str, object]

FIDELITY, IDENTIFIED = "rich-fidelity", "rich-identify"
OTHERS = (" and", " of", " which", " is")
TOP = 1 + len(OTHERS)
SENTENCES = (
    ("tides", ["The", " moon", " pulls", " the", " sea", " twice", " a", " day"]),
    ("arabic", ["القمر", " يجذب", " البحر", " مرتين", " في", " اليوم"]),
    ("chinese", ["月", "亮", "吸", "引", "海", "水"]),
    ("hindi", ["चाँद", " समुद्र", " को", " खींचता", " है"]),
    ("emoji", ["🌊", " rises", " with", " 🌕", "\n", "always"]),
    ("markup", ["<b>", "bold", "</b>", " ![x](http://x.invalid/p.png)", " | a | b |"]),
    ("code", ["def", " tide", "(", "t", "):", "\n\t", "return", " sin", "(t)"]),
    ("numbers", ["12", ".", "42", " metres", " at", " noon"]),
    ("names", ["Anna", " and", " Łukasz", " measure", " it"]),
)


def sse(pieces: Sequence[dict[str, object]]) -> list[bytes]:
    """One event per piece, and the end."""
    return [*(b"data: " + orjson.dumps(piece) + b"\n\n" for piece in pieces), b"data: [DONE]\n\n"]


def captured(request: Request, pieces: Sequence[dict[str, object]], at: datetime, *, ttft_ms: float = 180) -> Capture:
    """A capture of a stream: one read per event, 22 ms apart after the first."""
    t0 = 10_000_000_000
    events = sse(pieces)
    reads = tuple(Read(t0 + int((ttft_ms + 22 * place) * 1e6), event) for place, event in enumerate(events))
    return Capture(
        request=request,
        sent=orjson.dumps({"messages": list(request.messages), "stream": True}),
        started_at=at,
        status=200,
        headers=(("content-type", "text/event-stream"),),
        reads=reads,
        t0_ns=t0,
        dns_ns=2_000_000,
        connect_ns=9_000_000,
        tls_ns=14_000_000,
        sent_ns=t0 + 300_000,
        first_byte_ns=reads[0].at_ns,
        eof_ns=reads[-1].at_ns + 500_000,
        reused=False,
        transport="wire",
        lag_ms=0.2,
    )


def chunk(delta: dict[str, object], *, finish: str | None = None, **more: object) -> dict[str, object]:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}],
    }


def _spoken(tokens: Sequence[str], rng: np.random.Generator) -> list[dict[str, object]]:
    """Content tokens with their alternatives."""
    pieces = []
    for token in tokens:
        names = [token, *OTHERS]
        logits = np.sort(rng.normal(0, 1.6, TOP))[::-1] + np.array([2.0, 0, 0, 0, 0])
        values = logits - np.log(np.exp(logits).sum() * 1.05)
        top = [
            {"token": name, "logprob": float(value), "bytes": list(name.encode())}
            for name, value in zip(names, values, strict=True)
        ]
        pieces.append(chunk({"content": token}, logprobs={"content": [{**top[0], "top_logprobs": top}]}))
    usage = {"prompt_tokens": 21, "completion_tokens": len(tokens), "total_tokens": 21 + len(tokens)}
    return [*pieces, chunk({}, finish="stop"), {"id": "c", "model": "m", "choices": [], "usage": usage}]


def _golden(exchange: Exchange, off: float, rng: np.random.Generator) -> GoldenView:
    """Golden's side: the endpoint's logprobs moved by `off`, sometimes so far that another token comes first."""
    places = []
    for place, entry in enumerate(exchange.choice.logprobs or ()):
        told = np.array([top.logprob for top in entry.top], dtype=float)
        moved = told + rng.normal(0, off, told.size)
        moved -= math.log(np.exp(moved).sum()) - math.log(0.96)
        best = int(moved.argmax())
        places.append(
            GoldenPosition(
                position=place,
                token_id=100 + place,
                golden_logprob=float(moved[0]),
                golden_rank=int((moved > moved[0]).sum()),
                golden_entropy_nats=1.2,
                golden_top1_logprob=float(moved[best]),
                endpoint_logprob=float(told[0]),
                endpoint_at_golden_top1=float(told[best]),
                top1_same=best == 0,
                endpoint_top=tuple(map(float, told)),
                golden_top=tuple(map(float, moved)),
            )
        )
    return GoldenView(
        exchange_id=exchange.exchange_id,
        run_id=exchange.run_id,
        prompt_tokens=21,
        tokens_from="logprobs",
        canonical=True,
        completion_tokens=len(places),
        positions=tuple(places),
    )


def made_run(run_id: str, who: tuple[str, str], probe: str, at: datetime, exchanges: Sequence[Exchange]) -> RunRecord:
    endpoint, model = who
    run = Run(
        run_id=run_id,
        endpoint=endpoint,
        provider=endpoint.split("/", maxsplit=1)[0],
        model=model,
        reference=model,
        probe=probe,
        probe_version=1,
        params_sha256="b" * 64,
        seed=7,
        vantage="eu-1",
        prober_version="0.1.0",
        started_at=at,
        finished_at=at + timedelta(seconds=30),
        lag_ms=0.4,
        n_exchanges=len(exchanges),
        n_answered=sum(one.answered for one in exchanges),
    )
    return RunRecord(run=run, exchanges=tuple(exchanges), observations=())


def placed(capture: Capture, run_id: str, place: int) -> Exchange:
    """The decoded capture as an exchange of a run."""
    return replace(decode(capture), exchange_id=f"{run_id}-{place}", run_id=run_id)


def kept(record: RunRecord, captures: Sequence[Capture]) -> Iterator[Record]:
    for exchange, capture in zip(record.exchanges, captures, strict=True):
        yield (
            "capture",
            KeptCapture(
                exchange_id=exchange.exchange_id,
                run_id=record.run.run_id,
                endpoint=record.run.endpoint,
                at=exchange.started_at or record.run.started_at,
                answered=exchange.answered,
                capture=dump(capture).decode(),
            ),
        )


def evidence(endpoint: str, model: str, now: datetime, *, off: float = 1.5) -> list[Record]:
    """A run of ``logprobs`` with captures and golden positions, the verdict on it, and an identification."""
    rng = np.random.default_rng(5)
    at, run_id = now - timedelta(minutes=20), "rich-logprobs"
    captures = [
        captured(
            Request(
                prompt_id=name,
                messages=({"role": "user", "content": f"Say something about {name}."},),
                max_tokens=16,
                top_logprobs=TOP,
            ),
            _spoken(tokens, rng),
            at,
        )
        for name, tokens in SENTENCES
    ]
    record = made_run(
        run_id,
        (endpoint, model),
        "logprobs",
        at,
        [placed(capture, run_id, place) for place, capture in enumerate(captures)],
    )
    views = tuple(_golden(one, off, rng) for one in record.exchanges)
    mark = fingerprint()
    judged = JudgedRun(
        run_id=run_id,
        endpoint=endpoint,
        judged_at=at + timedelta(minutes=1),
        fingerprint=mark,
        views=views,
        observations=(),
    )
    seen = Evidence(
        endpoint=Endpoint(
            name=endpoint,
            provider=endpoint.split("/", maxsplit=1)[0],
            base_url="http://127.0.0.1:1",
            model=model,
            reference=model,
            precision="bf16",
        ),
        runs=(record.run,),
        exchanges=record.exchanges,
        golden={view.exchange_id: view for view in views},
        fingerprint=mark,
    )
    found = replace(LogprobFidelity().run(seen, at=at + timedelta(minutes=1), rng=rng), verdict_id=FIDELITY)
    return [
        ("run", record),
        ("judged", judged),
        ("verdict", found),
        ("verdict", identified(endpoint, run_id, now, rng)),
        *kept(record, captures),
    ]


def identified(endpoint: str, run_id: str, now: datetime, rng: np.random.Generator) -> Verdict:
    """An identification that names Q4_0 with dots along the diagonal."""
    x = rng.normal(0, 0.5, 160)
    dots = [[round(float(a), 4), round(float(a + b), 4)] for a, b in zip(x, rng.normal(0, 0.12, 160), strict=True)]
    schemes = [
        ("Q4_0", "4-bit", 0.963),
        ("int4-g128", "4-bit", 0.031),
        ("Q4_K", "4-bit", 0.005),
        ("golden", "bf16-class", 0.001),
    ]
    return Verdict(
        verdict_id=IDENTIFIED,
        endpoint=endpoint,
        detector="identify",
        detector_version=2,
        at=now - timedelta(minutes=18),
        status="fail",
        cause="weights: Q4_0",
        statistic="coarser_posterior",
        effect=0.999,
        unit="share",
        low=0.999,
        high=1.0,
        n=240,
        threshold=0.99,
        run_ids=(run_id,),
        fingerprint="f" * 64,
        reason="after 20 prompts what is served is Q4_0, posterior 0.963; declared is bf16",
        details={
            "schemes": [{"name": name, "family": family, "posterior": p, "twins": []} for name, family, p in schemes],
            "nearest": "Q4_0",
            "dots": dots,
            "strips": [{"prompt": f"pool-{at}", "tokens": sorted(dots[at : at + 20])} for at in range(0, 160, 20)],
        },
    )
