"""Evidence with a past: runs of one endpoint whose backends, prompts and latencies are known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from monitor.results import Evidence, GoldenPosition, GoldenView, Run, RunRecord
from monitor.types import Choice, Exchange, Request, TokenLogprob, TopToken
from tests.detectors.made import AT, endpoint, run_of

Floats = NDArray[np.float64]
TOKENS = 20

Logprobs = Callable[[int, int], tuple[Floats, str | None]]
"""(run, prompt) to the logprobs of `TOKENS` tokens and the fingerprint."""


def run_at(index: int, probe: str) -> Run:
    """Run number `index` of a probe that runs every hour."""
    start = AT + timedelta(hours=index)
    return replace(run_of(f"{probe}-{index}"), probe=probe, started_at=start, finished_at=start)


def evidence_of(records: Sequence[RunRecord]) -> Evidence:
    """The last of `records` is the newest run, the others are its history."""
    newest = records[-1]
    return Evidence(
        endpoint=endpoint(reference=None), runs=(newest.run,), exchanges=newest.exchanges, history=tuple(records[:-1])
    )


def logprob_runs(
    n_runs: int, logprobs: Logprobs, *, n_prompts: int = 32, counted: Callable[[int], int] = lambda _: 30
) -> list[RunRecord]:  # fmt: skip
    """Hourly runs of the logprobs probe."""
    return [
        RunRecord(
            run=run_at(index, "logprobs"), observations=(),
            exchanges=tuple(
                _call(index, prompt, *logprobs(index, prompt), counted(index)) for prompt in range(n_prompts)
            ),
        )
        for index in range(n_runs)
    ]  # fmt: skip


def _call(index: int, prompt: int, values: Floats, fingerprint: str | None, counted: int) -> Exchange:
    top = tuple(TopToken(token=f"t{at}", logprob=float(value)) for at, value in enumerate(values))
    return Exchange(
        exchange_id=f"logprobs-{index}-{prompt}", run_id=f"logprobs-{index}", outcome="ok", fingerprint=fingerprint,
        request=Request(prompt_id=f"p{prompt}", messages=(), max_tokens=1, top_logprobs=TOKENS),
        choices=(Choice(content="a", logprobs=(TokenLogprob(token="t0", logprob=float(values[0]), top=top),)),),
        usage={"prompt_tokens": counted, "completion_tokens": 1},
    )  # fmt: skip


class Pool:
    """A pool of backends behind one name. ``centres`` (backends, prompts, tokens) are their logprobs."""

    def __init__(
        self, rng: np.random.Generator, *, backends: int = 3, offset: float = 0.02, noise: float = 0.005,
        stickiness: float = 0.8, n_prompts: int = 32,
    ) -> None:  # fmt: skip
        self._rng, self._noise, self._stickiness = rng, noise, stickiness
        base = -np.sort(rng.gamma(3, 1.5, (n_prompts, TOKENS)), axis=1) - 0.5
        self.centres = base + rng.normal(0, offset, (backends, n_prompts, TOKENS))
        self._now = 0

    def call(self, prompt: int) -> tuple[Floats, int]:
        """Logprobs of one call, and which backend answered it."""
        if self._rng.random() > self._stickiness:
            self._now = int(self._rng.integers(len(self.centres)))
        noise = self._rng.normal(0, self._noise, TOKENS)
        return np.minimum(self.centres[self._now, prompt] + noise, -1e-6), self._now


def golden_first(exchange: Exchange, golden: Floats) -> GoldenView:
    """The golden view of the first position, from golden's logprobs of the same tokens."""
    entries = (exchange.choice.logprobs or ())[0].top
    values = tuple(float(top.logprob or 0.0) for top in entries)
    position = GoldenPosition(
        position=0, token_id=0, golden_logprob=float(golden[0]), golden_rank=0, golden_entropy_nats=1.0,
        golden_top1_logprob=float(golden[0]), endpoint_logprob=values[0], endpoint_at_golden_top1=values[0],
        top1_same=True, endpoint_top=values, golden_top=tuple(float(value) for value in golden),
    )  # fmt: skip
    return GoldenView(
        exchange_id=exchange.exchange_id, run_id=exchange.run_id, prompt_tokens=30, positions=(position,)
    )


def speed_runs(
    ttft_ms: Floats, tpot_ms: Floats, *, measurement: str = "valid", cold_ms: float = 400.0
) -> list[RunRecord]:
    """Hourly runs of the speed probe: one exchange on a fresh connection, three on a kept-alive one."""
    return [
        RunRecord(
            run=run_at(index, "speed"), observations=(),
            exchanges=tuple(
                Exchange(
                    exchange_id=f"speed-{index}-{number}", run_id=f"speed-{index}", outcome="ok", reused=number > 0,
                    ttft_ms=float(start) if number else cold_ms, tpot_ms=float(each), measurement=measurement,
                )
                for number in range(4)
            ),
        )
        for index, (start, each) in enumerate(zip(ttft_ms, tpot_ms, strict=True))
    ]  # fmt: skip


def latencies(
    rng: np.random.Generator, n: int, *, memory: float = 0.6, sd: float = 0.12, day: float = 0.2, spikes: float = 0.02
) -> Floats:  # fmt: skip
    """Log latencies of hourly runs, centred at 0: a daily rhythm, an autoregressive series and outliers upwards."""
    steps = rng.normal(0, sd * np.sqrt(1 - memory**2), n)
    series = np.zeros(n)
    series[0] = rng.normal(0, sd)
    for at in range(1, n):
        series[at] = memory * series[at - 1] + steps[at]
    rhythm = day * np.sin(2 * np.pi * (np.arange(n) - rng.uniform(0, 24)) / 24)
    out: Floats = rhythm + series + (rng.random(n) < spikes) * rng.exponential(0.5, n)
    return out


def border_evidence(
    flipped: Sequence[bool], *, answers: int = 1, counted: int = 30, precision: str | None = None,
    canonical: bool | None = None,
) -> Evidence:  # fmt: skip
    """Answers to border prompts: those marked begin with golden's second token."""
    exchanges, views = [], {}
    for at, flip in enumerate(flipped):
        for again in range(answers):
            one = Exchange(
                exchange_id=f"b-{at}-{again}", run_id="border-0", outcome="ok_length",
                request=Request(prompt_id=f"b{at}", messages=(), max_tokens=1),
                choices=(Choice(content="word"),), usage={"prompt_tokens": counted, "completion_tokens": 1},
            )  # fmt: skip
            first = GoldenPosition(
                position=0, token_id=int(flip), golden_logprob=-1.0 - flip, golden_rank=int(flip),
                golden_entropy_nats=1.0, golden_top1_logprob=-1.0, endpoint_logprob=None, endpoint_at_golden_top1=None,
                top1_same=None,
            )  # fmt: skip
            exchanges.append(one)
            views[one.exchange_id] = GoldenView(
                exchange_id=one.exchange_id, run_id="border-0", prompt_tokens=30, tokens_from="text",
                canonical=canonical, positions=(first,),
            )  # fmt: skip
    return Evidence(
        endpoint=endpoint(precision=precision), runs=(run_at(0, "border"),),
        exchanges=tuple(exchanges), golden=views,
    )  # fmt: skip


def faithful_border() -> Evidence:
    """40 border prompts of which none flips."""
    return border_evidence([False] * 40)


def steady_logprobs() -> Evidence:
    """25 runs of a pool of three faithful backends."""
    pool = Pool(np.random.default_rng(0), n_prompts=16)
    return evidence_of(logprob_runs(25, lambda _, prompt: (pool.call(prompt)[0], None), n_prompts=16))


def steady_speed() -> Evidence:
    """A week of hourly runs with a daily rhythm."""
    rng = np.random.default_rng(0)
    return evidence_of(speed_runs(300 * np.exp(latencies(rng, 169)), 20 * np.exp(latencies(rng, 169, sd=0.05))))
