"""Evidence for identification: deviations that come from shifts of a hidden state, as those of real variants do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from monitor.results import Evidence, GoldenPosition, GoldenView, Prediction
from tests.detectors.made import endpoint, exchange, run_of

Floats = NDArray[np.float64]

VARIANTS: Mapping[str, tuple[str, str, float]] = {
    "bf16": ("bf16-class", "weights", 0.012), "fp8-channel": ("fp8", "weights", 0.23),
    "Q8_0": ("8-bit", "weights", 0.07), "Q5_0": ("5-bit", "weights", 0.55), "Q4_0": ("4-bit", "weights", 1.07),
    "int8-g64": ("8-bit", "weights", 0.075), "kv-4": ("KV", "kv_cache", 0.7),
    "layers-2": ("layers", "different_model", 1.1),
    "rope-x0.1": ("RoPE", "engine", 0.47), "Q2_K": ("2-bit", "weights", 2.2),
}  # fmt: skip
"""Family, cause and size in nats, as measured on the small real model."""

_HIDDEN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Golden logprobs (n, k), their deviation for each variant, and the noise of an engine, all per prompt."""

    golden: Floats
    deviations: Mapping[str, Floats]
    noise: Floats

    def served(self, name: str | None, *, gain: float = 1.0, share: float = 1.0, seed: int = 0) -> Floats:
        """Logprobs of an endpoint; None serves golden weights, `share` the part of prompts that `name` answers."""
        if name is None:
            return self.golden + self.noise
        gone = np.random.default_rng(seed).random(len(self.golden)) < share
        return self.golden + self.noise + gone[:, None] * gain * self.deviations[name]


def world(seed: int, *, n: int = 20, k: int = 20, noise: float = 0.1) -> World:
    """Make one: every deviation is a random shift of a hidden state, read out by the same directions."""
    rng = np.random.default_rng(seed)
    read = rng.normal(0, 1, (n, k, _HIDDEN)) / np.sqrt(_HIDDEN)
    golden = -np.sort(rng.exponential(1.5, (n, k)), axis=1) - 0.3

    def shift(size: float) -> Floats:
        found: Floats = size * np.einsum("nkh,nh->nk", read, rng.normal(0, 1, (n, _HIDDEN)))
        return found + rng.normal(0, 0.5, (n, 1)) * size  # the normaliser moves with it

    return World(
        golden=golden, deviations={name: shift(size) for name, (_, _, size) in VARIANTS.items()},
        noise=shift(noise) + rng.normal(0, noise / 5, (n, k)),
    )  # fmt: skip


def identify_evidence(
    name: str | None = None, *, seed: int = 0, n: int = 24, noise: float = 0.005, precision: str | None = None,
    without: tuple[str, ...] = (), share: float = 1.0, gain: float = 1.0,
) -> Evidence:  # fmt: skip
    """An endpoint that serves the variant `name`, with predictions of all variants but those `without`."""
    made = world(seed, n=n, noise=noise)
    served = made.served(name, share=share, gain=gain, seed=seed)
    exchanges = tuple(exchange(index) for index in range(n))
    ids = [one.exchange_id for one in exchanges]
    views = {
        key: GoldenView(
            exchange_id=key, run_id="r1", prompt_tokens=30, positions=(_place(made.golden[at], served[at]),)
        )
        for at, key in enumerate(ids)
    }  # fmt: skip
    predictions = tuple(
        Prediction(variant=variant, family=family, cause=cause, logprobs={
            key: (tuple((made.golden + made.deviations[variant])[at].tolist()),) for at, key in enumerate(ids)
        })
        for variant, (family, cause, _) in VARIANTS.items() if variant not in without
    )  # fmt: skip
    return Evidence(
        endpoint=endpoint(precision=precision), runs=(replace(run_of(), probe="identify"),), exchanges=exchanges,
        golden=views, predictions=predictions,
    )  # fmt: skip


def text_evidence(
    name: str | None = None, *, seed: int = 0, n: int = 8, tokens: int = 12, noise: float = 0.02,
    precision: str | None = None, without: tuple[str, ...] = (), share: float = 1.0,
) -> Evidence:  # fmt: skip
    """Greedy answers of an endpoint that gives no logprobs: at every position it takes the likeliest of its own."""
    made = world(seed, n=n * tokens, noise=noise)
    gone = np.repeat(np.random.default_rng(seed).random(n) < share, tokens)
    served = np.where(gone[:, None], made.served(name), made.served(None))
    exchanges = tuple(exchange(index) for index in range(n))
    views: dict[str, GoldenView] = {}
    rows: dict[str, dict[str, tuple[tuple[float, ...], ...]]] = {
        variant: {} for variant in VARIANTS if variant not in without
    }  # fmt: skip
    for index, one in enumerate(exchanges):
        places = range(index * tokens, (index + 1) * tokens)
        views[one.exchange_id] = GoldenView(
            exchange_id=one.exchange_id, run_id="r1", prompt_tokens=30, tokens_from="text", canonical=True,
            positions=tuple(_choice(t, made.golden[at], int(served[at].argmax())) for t, at in enumerate(places)),
        )
        for variant, known in rows.items():
            known[one.exchange_id] = tuple(
                tuple((made.golden + made.deviations[variant])[at].tolist()) for at in places
            )
    predictions = tuple(
        Prediction(variant=variant, family=VARIANTS[variant][0], cause=VARIANTS[variant][1], logprobs=known)
        for variant, known in rows.items()
    )
    return Evidence(
        endpoint=endpoint(precision=precision), runs=(replace(run_of(), probe="identify"),), exchanges=exchanges,
        golden=views, predictions=predictions,
    )  # fmt: skip


def after_sampler(made: Evidence) -> Evidence:
    """The same answers from an endpoint that gives all probability to the token that it takes, and lists the others."""
    views = {
        key: replace(view, positions=tuple(
            replace(one, endpoint_top=tuple(
                0.0 if value == max(one.endpoint_top) else -50.0 for value in one.endpoint_top
            ))
            for one in view.positions
        ))
        for key, view in made.golden.items()
    }  # fmt: skip
    return replace(made, golden=views)


def _choice(position: int, golden: Floats, chosen: int) -> GoldenPosition:
    return GoldenPosition(
        position=position, token_id=chosen, golden_logprob=float(golden[chosen]), golden_rank=None,
        golden_entropy_nats=1.0, golden_top1_logprob=float(golden[0]), endpoint_logprob=None,
        endpoint_at_golden_top1=None, top1_same=None, rivals=tuple(enumerate(golden.tolist())),
    )  # fmt: skip


def _place(golden: Floats, shifted: Floats) -> GoldenPosition:
    """One position; what is served is moved as a whole, which no comparison sees, until it sums to 0.95 at most."""
    served = shifted - max(0.0, float(np.logaddexp.reduce(shifted)) - np.log(0.95))
    return GoldenPosition(
        position=0, token_id=0, golden_logprob=float(golden[0]), golden_rank=0, golden_entropy_nats=1.0,
        golden_top1_logprob=float(golden[0]), endpoint_logprob=float(served[0]),
        endpoint_at_golden_top1=float(served[0]), top1_same=True, endpoint_top=tuple(served.tolist()),
        golden_top=tuple(golden.tolist()),
    )  # fmt: skip
