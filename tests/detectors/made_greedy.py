"""Greedy answers made to measure: which tokens flip, by how much, and how far the endpoint's logits are off."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from monitor.results import Evidence, GoldenPosition, GoldenView, Tolerances
from monitor.types import Choice, Exchange, Request, TokenLogprob, TopToken
from tests.detectors.made import endpoint, exchange, position, run_of

PROMPT_TOKENS = 40
VOCABULARY = 200
LISTED = 20
_SENT = tuple((length, at, state) for state in ("cold", "warm") for length in (500, 1500) for at in (0, 1))
CONTEXT_NAMES = tuple(f"code-{length}-{at}-4821{at}-{state}" for length, at, state in _SENT)
CONTEXT_LENGTHS = tuple(length for length, _, _ in _SENT)


def flips(
    n: int, tokens: int, rate: float | Callable[[int], float], *, rho: float = 0.0, margin: float = 1.0, seed: int = 0,
    share: float = 1.0,
) -> list[list[float]]:  # fmt: skip
    """Margins of `n` answers: `margin` with probability `rate` (of the place, if callable), else 0.

    `rho` correlates the flips of one answer; all but a `share` of the answers have none.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        wanted = np.array([rate(place) if callable(rate) else rate for place in range(tokens)])
        if rho:
            size = 1 / rho - 1
            wanted = np.full(tokens, rng.beta(wanted[0] * size, (1 - wanted[0]) * size))
        hit = (rng.random(tokens) < wanted) & (rng.random() < share)
        rows.append([margin if flipped else 0.0 for flipped in hit])
    return rows


def greedy_evidence(
    margins: Sequence[Sequence[float]], *, noise: float | Callable[[int], float] | None = None, probe: str = "greedy",
    deltas: Sequence[int] | None = None, names: Sequence[str] | None = None, prompt_tokens: Sequence[int] | None = None,
    canonical: bool | None = True, precision: str | None = None, tolerances: Tolerances | None = None, seed: int = 0,
    surprise: float = 0.0,
) -> Evidence:  # fmt: skip
    """One run of answers with these `margins`; with `noise` (of the place, if callable) also logprobs that are off.

    `deltas` are what the endpoint counts more than golden, per answer; `surprise` is added to golden's surprisal at
    every token, against an entropy of 1 nat.
    """
    rng = np.random.default_rng(seed)
    exchanges, views = [], {}
    for index, row in enumerate(margins):
        length = PROMPT_TOKENS if prompt_tokens is None else prompt_tokens[index]
        one = _named(exchange(index, prompt_tokens=length + (deltas[index] if deltas else 0)), index, names, noise)
        exchanges.append(one)
        views[one.exchange_id] = GoldenView(
            exchange_id=one.exchange_id, run_id="r1", prompt_tokens=length, canonical=canonical,
            tokens_from="text" if noise is None else "logprobs",
            positions=tuple(_position(rng, place, value, noise, surprise) for place, value in enumerate(row)),
        )  # fmt: skip
    return Evidence(
        endpoint=endpoint(precision=precision), runs=(replace(run_of(), probe=probe),), exchanges=tuple(exchanges),
        golden=views, tolerances=tolerances,
    )  # fmt: skip


def _named(
    one: Exchange, index: int, names: Sequence[str] | None, noise: float | Callable[[int], float] | None
) -> Exchange:  # fmt: skip
    asked = one.request or Request(prompt_id="", messages=(), max_tokens=1)
    request = replace(asked, prompt_id=names[index] if names else f"p{index}")
    choices = one.choices if noise is not None else (Choice(content="a"),)
    return replace(one, request=request, choices=choices)


def _position(
    rng: np.random.Generator, place: int, margin: float, noise: float | Callable[[int], float] | None, surprise: float
) -> GoldenPosition:  # fmt: skip
    if noise is None:
        top = -0.5 - surprise
        return GoldenPosition(
            position=place, token_id=0, golden_logprob=top - margin, golden_rank=1 if margin else 0,
            golden_entropy_nats=1.0, golden_top1_logprob=top, endpoint_logprob=None, endpoint_at_golden_top1=None,
            top1_same=None,
        )  # fmt: skip
    made = position(rng, noise(place) if callable(noise) else noise)
    return replace(
        made, position=place, golden_logprob=made.golden_top1_logprob - margin, golden_rank=1 if margin else 0
    )


def leaning(
    n: int, tokens: int, *, context: float | Callable[[int], float] = 0.0, token: float = 0.0, share: float = 1.0,
    probe: str = "greedy", seed: int = 0, names: Sequence[str] | None = None,
    prompt_tokens: Sequence[int] | None = None, deltas: Sequence[int] | None = None, precision: str | None = None,
) -> Evidence:  # fmt: skip
    """Answers with named alternatives whose logits are off, in a `share` of the answers.

    By `token` (standard deviation, nats) for each token alike everywhere, by `context` anew at every place, of which it
    may be a function.
    """
    rng = np.random.default_rng(seed)
    bias = np.random.default_rng(12345).normal(0, 1, VOCABULARY) * token
    base = greedy_evidence(
        [[0.0] * tokens] * n, noise=0.0, probe=probe, names=names, prompt_tokens=prompt_tokens, deltas=deltas,
        precision=precision,
    )  # fmt: skip
    exchanges, views = [], {}
    for one in base.exchanges:
        off = float(rng.random() < share)
        spread = [context(place) if callable(context) else context for place in range(tokens)]
        rows = [_listed(rng, place, off * bias, off * spread[place]) for place in range(tokens)]
        exchanges.append(replace(one, choices=(Choice(content="a", logprobs=tuple(entry for entry, _ in rows)),)))
        views[one.exchange_id] = replace(base.golden[one.exchange_id], positions=tuple(seen for _, seen in rows))
    return replace(base, exchanges=tuple(exchanges), golden=views)


def _listed(
    rng: np.random.Generator, place: int, bias: np.ndarray, context: float
) -> tuple[TokenLogprob, GoldenPosition]:  # fmt: skip
    logits = rng.normal(0, 2.5, VOCABULARY)
    other = logits + bias + rng.normal(0, 1, VOCABULARY) * context
    golden, served = logits - np.logaddexp.reduce(logits), other - np.logaddexp.reduce(other)
    ids = np.argsort(served)[::-1][:LISTED]
    top = tuple(TopToken(token=f"t{token}", logprob=float(served[token])) for token in ids)
    first, best = int(ids[0]), int(golden.argmax())
    seen = GoldenPosition(
        position=place, token_id=first, golden_logprob=float(golden[first]),
        golden_rank=int((golden > golden[first]).sum()),
        golden_entropy_nats=1.0, golden_top1_logprob=float(golden[best]), endpoint_logprob=float(served[first]),
        endpoint_at_golden_top1=float(served[best]) if best in ids else None, top1_same=first == best,
        endpoint_top=tuple(float(value) for value in served[ids]),
        golden_top=tuple(float(value) for value in golden[ids]),
    )  # fmt: skip
    return TokenLogprob(token=f"t{first}", logprob=float(served[first]), top=top), seen


def spoken(n: int, tokens: int, *, token: float = 0.0, context: float = 0.0, seed: int = 0) -> Evidence:
    """Answers of which only the text is known, of an endpoint whose logits are off as in `leaning`."""
    rng = np.random.default_rng(seed)
    bias = np.random.default_rng(12345).normal(0, 1, VOCABULARY) * token
    base = greedy_evidence([[0.0] * tokens] * n)
    views = {
        key: replace(view, positions=tuple(_heard(rng, place, bias, context) for place in range(tokens)))
        for key, view in base.golden.items()
    }
    return replace(base, golden=views)


def _heard(rng: np.random.Generator, place: int, bias: np.ndarray, context: float) -> GoldenPosition:
    logits = rng.normal(0, 2.5, VOCABULARY)
    golden = logits - np.logaddexp.reduce(logits)
    chosen = int((logits + bias + rng.normal(0, 1, VOCABULARY) * context).argmax())
    near = [int(token) for token in np.argsort(golden)[::-1] if golden[token] > golden.max() - 4.0]
    return GoldenPosition(
        position=place, token_id=chosen, golden_logprob=float(golden[chosen]),
        golden_rank=int((golden > golden[chosen]).sum()), golden_entropy_nats=1.0,
        golden_top1_logprob=float(golden.max()), endpoint_logprob=None, endpoint_at_golden_top1=None, top1_same=None,
        rivals=tuple((token, float(golden[token])) for token in near),
    )  # fmt: skip


def after_temperature(made: Evidence) -> Evidence:
    """The same answers from an endpoint whose logprobs give all to the chosen token."""
    views = {
        key: replace(view, positions=tuple(
            replace(one, endpoint_logprob=0.0, endpoint_top=(0.0, *[-50.0] * (len(one.endpoint_top) - 1)))
            for one in view.positions
        ))
        for key, view in made.golden.items()
    }  # fmt: skip
    return replace(made, golden=views)


def faithful_greedy() -> Evidence:
    """One run of `greedy` against an endpoint that keeps its word."""
    return leaning(20, 32, context=0.01)


def faithful_context() -> Evidence:
    """One run of `context` against an endpoint that keeps its word."""
    return leaning(8, 12, context=0.01, probe="context", names=CONTEXT_NAMES, prompt_tokens=CONTEXT_LENGTHS)
