"""Tokens drawn from made distributions that are known as a whole, and evidence that holds them."""

from dataclasses import replace

import numpy as np

from monitor.results import Evidence, GoldenPosition, GoldenView, Prediction
from monitor.stats.matched_draws import Draws
from monitor.stats.samplers import RULES, TEMPERATURES, Drawn
from monitor.types import Exchange
from tests.detectors.made import endpoint, exchange, run_of
from tests.detectors.made_identify import VARIANTS, Floats

NAMES = tuple(VARIANTS)


def normal(logits: Floats) -> Floats:
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


class World:
    """Golden distributions (t, v), those of every variant, and tokens drawn from one of them."""

    def __init__(self, seed: int, n: int, *, v: int = 60, shrink: float = 1.0) -> None:
        self.rng = np.random.default_rng(seed)
        logits = self.rng.normal(0, 2.5, (n, v))
        self.golden = normal(logits)
        self.variants = {
            name: normal(logits + shrink * size * self.rng.normal(0, 1, (n, v)))
            for name, (_, _, size) in VARIANTS.items()
        }  # fmt: skip

    def draw(self, logprobs: Floats) -> np.ndarray:
        return np.asarray((logprobs + self.rng.gumbel(size=logprobs.shape)).argmax(axis=1))

    def seen(self, tokens: np.ndarray, names: tuple[str, ...] = NAMES) -> Draws:
        at = np.arange(len(tokens)), tokens
        own = self.golden[at]
        above = self.golden > own[:, None]
        norms = np.zeros((len(tokens), len(RULES)))
        norms[:, : len(TEMPERATURES)] = np.column_stack([
            np.logaddexp.reduce(self.golden / value, axis=1) for value in TEMPERATURES
        ])  # fmt: skip
        return Draws(
            drawn=Drawn(logprob=own, rank=above.sum(axis=1).astype(float), log_norms=norms,
                        mass_above=np.where(above, np.exp(self.golden), 0).sum(axis=1),
                        top1_logprob=self.golden.max(axis=1)),
            predicted=[self.variants[name][at] for name in names],
        )  # fmt: skip


def drawn_evidence(
    name: str | None = None, *, seed: int = 0, n: int = 20, tokens: int = 24, temperature: float = 1.0,
    precision: str | None = None,
) -> Evidence:  # fmt: skip
    """Answers of an endpoint that gives no logprobs, asked at temperature 1 and drawn at `temperature`."""
    made = World(seed, n * tokens)
    drawn = made.seen(made.draw((made.golden if name is None else made.variants[name]) / temperature))
    exchanges = tuple(_asked(exchange(index, logprobs=False)) for index in range(n))
    views = {
        one.exchange_id: GoldenView(
            exchange_id=one.exchange_id, run_id="r1", prompt_tokens=30, tokens_from="text", canonical=True,
            positions=tuple(_place(drawn.drawn, index * tokens + t, t) for t in range(tokens)),
        )
        for index, one in enumerate(exchanges)
    }  # fmt: skip
    predictions = tuple(
        Prediction(variant=variant, family=VARIANTS[variant][0], cause=VARIANTS[variant][1], logprobs={
            key: tuple((float(value),) for value in row)
            for key, row in zip(views, drawn.predicted[at].reshape(n, tokens), strict=True)
        })
        for at, variant in enumerate(NAMES)
    )  # fmt: skip
    return Evidence(
        endpoint=endpoint(precision=precision), runs=(replace(run_of(), probe="identify"),), exchanges=exchanges,
        golden=views, predictions=predictions,
    )  # fmt: skip


def _asked(one: Exchange) -> Exchange:
    assert one.request is not None
    return replace(one, usage=None, request=replace(one.request, temperature=1.0, top_p=1.0, top_logprobs=None))


def _place(drawn: Drawn, at: int, t: int) -> GoldenPosition:
    return GoldenPosition(
        position=t, token_id=at, golden_logprob=float(drawn.logprob[at]), golden_rank=int(drawn.rank[at]),
        golden_entropy_nats=1.0, golden_top1_logprob=float(drawn.top1_logprob[at]), endpoint_logprob=None,
        endpoint_at_golden_top1=None, top1_same=None, mass_above=float(drawn.mass_above[at]), said_mass=0.0,
        was_said=False, log_norms=tuple(drawn.log_norms[at].tolist()),
    )  # fmt: skip
