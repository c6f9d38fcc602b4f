"""Evidence made to measure: an endpoint whose logits are golden's plus noise, and whose counts may be off."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from monitor.results import Evidence, GoldenPosition, GoldenView, Run
from monitor.types import ANSWERED, Choice, Endpoint, Exchange, Outcome, Request, TokenLogprob, TopToken

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
VOCABULARY = 400


def endpoint(*, precision: str | None = None, reference: str | None = "golden") -> Endpoint:
    return Endpoint(
        name="acme/model", provider="acme", base_url="http://127.0.0.1:1/v1", model="model", reference=reference,
        precision=precision,
    )  # fmt: skip


def run_of(run_id: str = "r1") -> Run:
    return Run(
        run_id=run_id, endpoint="acme/model", provider="acme", model="model", reference="golden", probe="logprobs",
        probe_version=1, params_sha256="0", seed=0, vantage="test", prober_version="0", started_at=AT, finished_at=AT,
    )  # fmt: skip


def position(rng: np.random.Generator, noise: float, k: int = 20) -> GoldenPosition:
    """One position: golden logits of a plausible shape, the endpoint's are golden's plus Gaussian noise."""
    logits = rng.normal(0, 3, VOCABULARY)
    other = logits + rng.normal(0, noise, VOCABULARY)
    golden, served = logits - np.logaddexp.reduce(logits), other - np.logaddexp.reduce(other)
    listed = np.argsort(served)[::-1][:k]
    top1 = int(golden.argmax())
    return GoldenPosition(
        position=0,
        token_id=int(listed[0]),
        golden_logprob=float(golden[listed[0]]),
        golden_rank=0,
        golden_entropy_nats=1.0,
        golden_top1_logprob=float(golden[top1]),
        endpoint_logprob=float(served[listed[0]]),
        endpoint_at_golden_top1=float(served[top1]) if top1 in listed else None,
        top1_same=int(listed[0]) == top1,
        endpoint_top=tuple(float(value) for value in served[listed]),
        golden_top=tuple(float(value) for value in golden[listed]),
    )


def exchange(
    index: int, *, outcome: Outcome = "ok", prompt_tokens: int | None = 30, logprobs: bool = True, n_messages: int = 1,
    flags: tuple[str, ...] = (),
) -> Exchange:  # fmt: skip
    entry = TokenLogprob(token="a", logprob=-0.1, top=(TopToken(token="a", logprob=-0.1),))
    return Exchange(
        exchange_id=f"r1-{index}",
        run_id="r1",
        request=Request(
            prompt_id=f"p{index}",
            messages=tuple({"role": "user", "content": "x"} for _ in range(n_messages)),
            max_tokens=1,
            top_logprobs=20,
        ),
        outcome=outcome,
        choices=(Choice(content="a", logprobs=(entry,) if logprobs else None),) if outcome in ANSWERED else (),
        usage=None if prompt_tokens is None else {"prompt_tokens": prompt_tokens, "completion_tokens": 1},
        flags=flags,
    )


def evidence(
    *, noise: float = 0.0, n: int = 32, deltas: Sequence[int] | None = None, precision: str | None = None,
    seed: int = 0, positions: int = 4,
) -> Evidence:  # fmt: skip
    """`n` answered prompts; ``deltas[i]`` is what the endpoint counts more than golden's 30 prompt tokens."""
    rng = np.random.default_rng(seed)
    off = list(deltas) if deltas is not None else [0] * n
    exchanges = tuple(exchange(index, prompt_tokens=30 + off[index]) for index in range(n))
    views = {
        one.exchange_id: GoldenView(
            exchange_id=one.exchange_id, run_id="r1", prompt_tokens=30,
            positions=tuple(position(rng, noise) for _ in range(positions)),
        )
        for one in exchanges
    }  # fmt: skip
    return Evidence(endpoint=endpoint(precision=precision), runs=(run_of(),), exchanges=exchanges, golden=views)
