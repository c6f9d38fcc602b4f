"""Sampled answers made to measure: golden logits of a plausible shape, and a sampler or other logits behind them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from monitor.ports import Floats, Ints
from monitor.results import Evidence, GoldenPosition, GoldenView, Run
from monitor.stats.samplers import RULES, Rule
from monitor.types import Choice, Exchange, Request
from tests.detectors.made import AT, endpoint

VOCABULARY = 300
PADDING = 65535
DATA = Path(__file__).parent / "data" / "sampled.npz"
Served = Callable[[Floats, set[int]], Floats]
"""Golden logprobs (V,) and the ids said before, to the logprobs that the endpoint draws from."""


def plainly(golden: Floats, _said: set[int]) -> Floats:
    return golden


def by(rule: Rule) -> Served:
    """Draw by `rule`, written independently of the code under test: on sorted probabilities."""

    def served(golden: Floats, _said: set[int]) -> Floats:
        if rule.kind == "temperature":
            return normal(golden / rule.value)
        order = np.argsort(-golden)
        p = np.exp(golden[order])
        if rule.kind == "top_p":
            kept = int(np.searchsorted(np.cumsum(p), rule.value)) + 1
        else:
            kept = int(rule.value) if rule.kind == "top_k" else int((p >= rule.value * p[0]).sum())
        cut = np.full(golden.size, -np.inf)
        cut[order[:kept]] = golden[order[:kept]]
        return normal(cut)

    return served


def avoiding(nats: float) -> Served:
    """Make what was said before `nats` less likely."""

    def served(golden: Floats, said: set[int]) -> Floats:
        changed = golden.copy()
        changed[list(said)] -= nats
        return normal(changed)

    return served


def noisy(size: float, seed: int = 5) -> Served:
    """Other weights: Gaussian noise on every logit."""
    rng = np.random.default_rng(seed)
    return lambda golden, _said: normal(golden + rng.normal(0, size, golden.size))


def joined(at: int) -> Served:
    """A garbled answer: the token at position `at` is drawn without regard to what golden expects there."""
    count = iter(range(10**9))
    return lambda golden, _said: golden if next(count) % 48 != at else np.full(golden.size, -np.log(golden.size))


def normal(logits: Floats) -> Floats:
    """Logprobs of `logits`."""
    return np.asarray(logits - np.logaddexp.reduce(logits))


def log_norms(golden: Floats) -> tuple[float, ...]:
    """ln Z of all rules, by the definitions of the samplers."""
    p = np.sort(np.exp(golden))[::-1]
    mass = np.cumsum(p)

    def one(rule: Rule) -> float:
        if rule.kind == "temperature":
            return float(np.logaddexp.reduce(golden / rule.value))
        if rule.kind == "top_p":
            kept = int((mass < rule.value).sum()) + 1
        else:
            kept = int(rule.value) if rule.kind == "top_k" else int((p >= rule.value * p[0]).sum())
        return float(np.log(mass[min(kept, p.size) - 1]))

    return tuple(one(rule) for rule in RULES)


def drawn_position(rng: np.random.Generator, served: Served, at: int, said: set[int]) -> GoldenPosition:
    golden = normal(rng.standard_t(4, VOCABULARY) * 1.5 + (np.arange(VOCABULARY) < 6) * rng.uniform(0, 8))
    token = int(rng.choice(VOCABULARY, p=np.exp(served(golden, said))))
    p = np.exp(golden)
    above = golden > golden[token]
    return GoldenPosition(
        position=at, token_id=token, golden_logprob=float(golden[token]), golden_rank=int(above.sum()),
        golden_entropy_nats=float(-(p * golden).sum()), golden_top1_logprob=float(golden.max()), endpoint_logprob=None,
        endpoint_at_golden_top1=None, top1_same=None, mass_above=float(p[above].sum()),
        said_mass=float(p[list(said)].sum()), was_said=token in said, log_norms=log_norms(golden),
    )  # fmt: skip


def sample_run(run_id: str = "s1") -> Run:
    return Run(
        run_id=run_id, endpoint="acme/model", provider="acme", model="model", reference="golden", probe="sample",
        probe_version=1, params_sha256="0", seed=0, vantage="test", prober_version="0", started_at=AT, finished_at=AT,
    )  # fmt: skip


def asked(
    index: int, *, prompt: int | None = None, counted: int = 30, tokens: int = 48, finish: str = "length"
) -> Exchange:
    """An answered request of the `sample` probe; the endpoint counts `counted` prompt tokens and `tokens` answered."""
    return Exchange(
        exchange_id=f"s1-{index}", run_id="s1", outcome="ok",
        request=Request(
            prompt_id=f"p{index if prompt is None else prompt}", messages=({"role": "user", "content": "x"},),
            max_tokens=48, temperature=1.0, top_p=1.0, stream=False,
        ),
        choices=(Choice(content="a", finish=finish),), usage={"prompt_tokens": counted, "completion_tokens": tokens},
    )  # fmt: skip


def drawn_evidence(
    served: Served = plainly, *, n: int = 25, tokens: int = 48, seed: int = 0, counted: int = 30,
    precision: str | None = None,
) -> Evidence:  # fmt: skip
    """`n` answers of `tokens` tokens drawn by `served`; the endpoint counts `counted` prompt tokens, golden 30."""
    rng = np.random.default_rng(seed)
    exchanges = tuple(asked(index, counted=counted, tokens=tokens) for index in range(n))
    views = {one.exchange_id: _view(one.exchange_id, rng, served, tokens) for one in exchanges}
    return Evidence(endpoint=endpoint(precision=precision), runs=(sample_run(),), exchanges=exchanges, golden=views)


def _view(exchange_id: str, rng: np.random.Generator, served: Served, tokens: int) -> GoldenView:
    said: set[int] = set()
    positions = []
    for at in range(tokens):
        positions.append(drawn_position(rng, served, at, said))
        said.add(positions[-1].token_id)
    return GoldenView(
        exchange_id=exchange_id, run_id="s1", prompt_tokens=30, tokens_from="text", canonical=True,
        positions=tuple(positions),
    )


def greedy_beside(made: Evidence, *, n: int, flips: int) -> Evidence:
    """Add a run of the `greedy` probe with `n` tokens, of which golden likes `flips` less than its own by a nat."""
    run = replace(sample_run("g1"), probe="greedy")
    request = Request(prompt_id="g", messages=(), max_tokens=n, temperature=0.0)
    one = replace(asked(0), exchange_id="g1-0", run_id="g1", request=request)
    position = drawn_position(np.random.default_rng(0), plainly, 0, set())
    best = position.golden_top1_logprob
    positions = tuple(
        replace(position, golden_rank=int(at < flips), golden_logprob=best - float(at < flips), position=at)
        for at in range(n)
    )
    seen = GoldenView(exchange_id="g1-0", run_id="g1", prompt_tokens=30, canonical=True, positions=positions)
    return replace(
        made, runs=(*made.runs, run), exchanges=(*made.exchanges, one), golden={**made.golden, "g1-0": seen}
    )


def answered_evidence(
    endpoint_side: Ints, golden_side: Ints, *, stop: int | None = None, counted: int = 30
) -> Evidence:
    """Answers of both sides as token ids, shape (prompts, answers, tokens), padded with -1.

    Shorter answers of the endpoint ended by themselves, with the token `stop`.
    """
    exchanges: list[Exchange] = []
    views = {}
    for prompt, answers in enumerate(endpoint_side):
        for answer in answers:
            ids = [int(token) for token in answer if token >= 0]
            finish = "length" if len(ids) == len(answer) else "stop"
            if stop is not None and finish == "stop":
                ids = [*ids, stop]
            one = asked(len(exchanges), prompt=prompt, counted=counted, tokens=len(ids), finish=finish)
            exchanges.append(one)
            views[one.exchange_id] = GoldenView(
                exchange_id=one.exchange_id, run_id="s1", prompt_tokens=30, tokens_from="text", canonical=True,
                positions=tuple(_said(at, token) for at, token in enumerate(ids)),
            )  # fmt: skip
    samples = {
        f"p{prompt}": tuple(tuple(int(token) for token in answer if token >= 0) for answer in answers)
        for prompt, answers in enumerate(golden_side)
    }
    return Evidence(
        endpoint=endpoint(), runs=(sample_run(),), exchanges=tuple(exchanges), golden=views, samples=samples
    )


def _said(at: int, token: int) -> GoldenPosition:
    return GoldenPosition(
        position=at, token_id=token, golden_logprob=-1.0, golden_rank=0, golden_entropy_nats=1.0,
        golden_top1_logprob=-1.0, endpoint_logprob=None, endpoint_at_golden_top1=None, top1_same=None,
    )  # fmt: skip


def faithful_answers(prompts: int = 10, answers: int = 6) -> Evidence:
    """Answers of both sides to the same prompts, all tokens drawn from one distribution."""
    rng = np.random.default_rng(11)
    return answered_evidence(*rng.integers(0, 3, (2, prompts, answers, 48)))


def recorded(name: str) -> list[GoldenView]:
    """Golden views of the recorded answers of variant `name` (tests/detectors/data/README.md)."""
    with np.load(DATA) as data:
        sizes, numbers, norms = data[f"{name}.sizes"], data[f"{name}.numbers"].astype(float), data[f"{name}.log_norms"]
        rank, was_said = data[f"{name}.rank"], data[f"{name}.was_said"]
    known = [
        GoldenPosition(
            position=0, token_id=0, golden_logprob=float(row[0]), golden_rank=int(rank[at]),
            golden_entropy_nats=float(row[3]), golden_top1_logprob=float(row[2]), endpoint_logprob=None,
            endpoint_at_golden_top1=None, top1_same=None, mass_above=float(row[1]), said_mass=float(row[4]),
            was_said=bool(was_said[at]), log_norms=tuple(norms[at].astype(float).tolist()),
        )
        for at, row in enumerate(numbers.T)
    ]  # fmt: skip
    ends = np.cumsum(sizes, dtype=np.int64)
    return [
        GoldenView(
            exchange_id=f"{name}-{at}", run_id="s1", prompt_tokens=30, tokens_from="text", canonical=True,
            positions=tuple(known[end - size : end]),
        )
        for at, (end, size) in enumerate(zip(ends.tolist(), sizes.tolist(), strict=True))
    ]  # fmt: skip


def recorded_evidence(views: list[GoldenView]) -> Evidence:
    """One audit: an exchange for each of `views`, which may hold one twice."""
    seen = [replace(view, exchange_id=f"s1-{at}") for at, view in enumerate(views)]
    exchanges = tuple(asked(at, tokens=len(view.positions)) for at, view in enumerate(seen))
    golden = {view.exchange_id: view for view in seen}
    return Evidence(endpoint=endpoint(), runs=(sample_run(),), exchanges=exchanges, golden=golden)


def golden_answers() -> Ints:
    """Answers drawn from golden by its own engine: token ids of shape (25 prompts, 24 answers, 48), padded with -1."""
    with np.load(DATA) as data:
        tokens = data["tokens"].astype(np.int64)
    return np.asarray(np.where(tokens == PADDING, -1, tokens))
