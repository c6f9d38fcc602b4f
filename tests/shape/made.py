"""Runs of one probe whose answers have a known shape: lengths are geometric, signs come at known rates."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import numpy as np

from monitor.results import Evidence, Run, RunRecord
from monitor.types import Choice, Exchange, Request
from tests.detectors.made import AT, endpoint, run_of

CAP = 64
N = 20
LOOP = "so it is and so " * 20
TEXT = "A kilo is exactly one kilo, as it was before and as it will be."

Content = Callable[[np.random.Generator], str]


def run_at(index: int, probe: str = "greedy") -> Run:
    start = AT + timedelta(hours=index)
    return replace(run_of(f"{probe}-{index}"), probe=probe, started_at=start, finished_at=start)


def answers(
    index: int, rng: np.random.Generator, *, mean: float = 40, content: Content = lambda _: TEXT, prefix: str = "p",
    reasoning: str = "", n: int = N,
) -> RunRecord:  # fmt: skip
    """One run: `n` answers of geometric length, cut at `CAP`."""
    run = run_at(index)
    return RunRecord(
        run=run,
        observations=(),
        exchanges=tuple(
            _answer(run.run_id, f"{prefix}{at}", int(rng.geometric(1 / mean)), content(rng), reasoning)
            for at in range(n)
        ),
    )


def _answer(run_id: str, prompt: str, tokens: int, content: str, reasoning: str) -> Exchange:
    cut = tokens >= CAP
    return Exchange(
        exchange_id=f"{run_id}-{prompt}",
        run_id=run_id,
        outcome="ok_length" if cut else "ok" if content or reasoning else "empty",
        request=Request(prompt_id=prompt, messages=({"role": "user", "content": "Weigh it."},), max_tokens=CAP),
        choices=(Choice(content=content, reasoning=reasoning, finish="length" if cut else "stop"),),
        usage={"prompt_tokens": 3, "completion_tokens": min(tokens, CAP)},
    )


def evidence_of(now: RunRecord, history: list[RunRecord]) -> Evidence:
    return Evidence(endpoint=endpoint(reference=None), runs=(now.run,), exchanges=now.exchanges, history=tuple(history))


def steady(seed: int = 0, n_runs: int = 12) -> Evidence:
    """An endpoint that answers as it always did."""
    rng = np.random.default_rng(seed)
    runs = [answers(index, rng) for index in range(n_runs)]
    return evidence_of(runs[-1], runs[:-1])
