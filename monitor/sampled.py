"""What sampled tokens say of the sampler behind them: plain numbers out of golden views."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.evidence import split_is_known
from monitor.ports import Floats
from monitor.results import GoldenPosition, GoldenView
from monitor.standing import SUSPECT_NATS
from monitor.stats.eprocess import Interval, mixture_process
from monitor.stats.evalues import average_e
from monitor.stats.martingale import pit_process
from monitor.stats.ranks import discrete_pit
from monitor.stats.samplers import (
    PENALTIES,
    RULES,
    Drawn,
    penalty_log_ratios,
    rule_log_ratios,
    stray_log_ratios,
    surprisal_variance,
    temperature_interval,
)
from monitor.types import Exchange
from monitor.wire.usage import read_usage

LIKELY = SUSPECT_NATS
"""Nats of evidence that a sampler must be short of to be excluded: 20 to 1 for plain sampling."""

STRONG = 0.5
"""Penalties from here on, in nats, must be excluded for a pass."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampled:
    """Sampled tokens in the order in which they came, with golden's entropy and what was said before.

    ``pit`` is uniform for tokens drawn from golden. The random numbers in it follow from the exchange's id, so that
    a token has the same value at every look.
    """

    drawn: Drawn
    pit: Floats
    entropy: Floats
    was_said: Floats
    said_mass: Floats
    n_answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerEvidence:
    """What the tokens say, in nats of evidence against plain sampling, before any allowance.

    ``rules[j]`` is the log-likelihood ratio of `RULES[j]`, ``penalties`` likewise; the four ``_nats`` are e-processes
    at their end. ``excess_nats`` is mean surprisal less entropy, ``variance`` that of surprisal under golden.
    """

    n: int
    temperature: Interval
    excess_nats: float
    variance: float
    rules: Floats
    penalties: Floats
    rule_nats: float
    penalty_nats: float
    pit_nats: float
    stray_nats: float

    @property
    def sampler_nats(self) -> float:
        """Evidence for the best kind of sampler."""
        return max(self.rule_nats, self.penalty_nats)

    @property
    def other_nats(self) -> float:
        """Evidence for anything else: other weights, tokens from elsewhere."""
        return max(self.pit_nats, self.stray_nats)

    @property
    def direction(self) -> str:
        """Whether the tokens are more surprising to golden than they should be, or less."""
        return "flatter" if self.excess_nats > 0 else "sharper"

    @property
    def best(self) -> tuple[str, float]:
        """The sampler that explains the tokens best: its parameter and value."""
        if self.penalty_nats > self.rule_nats:
            return "penalty", PENALTIES[int(self.penalties.argmax())]
        rule = RULES[int(self.rules.argmax())]
        return rule.kind, self.temperature.estimate if rule.kind == "temperature" else rule.value

    def log_e(self, allowance: float) -> float:
        """Log e-value against plain sampling by an engine that is granted `allowance` nats per token."""
        four = average_e([self.rule_nats, self.penalty_nats, self.pit_nats, self.stray_nats])
        return four - allowance * self.n

    @property
    def undecided(self) -> list[str]:
        """Truncations and strong penalties that the tokens do not exclude."""
        cuts = [f"{rule.kind} {rule.value:g}" for rule, nats in zip(RULES, self.rules, strict=True)
                if rule.kind != "temperature" and nats > -LIKELY]  # fmt: skip
        avoided = [f"penalty {size:g}" for size, nats in zip(PENALTIES, self.penalties, strict=True)
                   if size >= STRONG and nats > -LIKELY]  # fmt: skip
        return cuts + avoided


def is_plain(exchange: Exchange) -> bool:
    """Whether temperature 1 and no truncation was asked for."""
    request = exchange.request
    return request is not None and request.temperature == 1 and request.top_p in {None, 1}


def is_own_split(exchange: Exchange, view: GoldenView) -> bool:
    """Whether the tokens are those that the endpoint drew, as far as its counts tell.

    Where only text is there, it may have drawn other pieces than golden makes of the text: one impossible token then
    stands where two likely ones did. An answer that `max_tokens` ended has no end token that may be counted or not.
    """
    if view.tokens_from != "text":
        return True
    counted = read_usage(exchange.usage or {}).generated
    cut_short = exchange.choice.finish == "length" and counted is not None
    return split_is_known(view) and not (cut_short and counted != len(view.positions))


def sampled(views: Sequence[GoldenView]) -> Sampled | None:
    """All positions at which golden knows the whole distribution; None when there is none."""
    rows = [(view, [position for position in view.positions if is_whole(position)]) for view in views]
    rows = [(view, row) for view, row in rows if row]
    known = [position for _, row in rows for position in row]
    if not known:
        return None

    def column(name: str) -> Floats:
        return np.array([getattr(position, name) for position in known], dtype=np.float64)

    return Sampled(
        drawn=Drawn(
            logprob=np.minimum(column("golden_logprob"), 0.0), rank=column("golden_rank"),
            mass_above=np.clip(column("mass_above"), 0.0, 1.0), top1_logprob=column("golden_top1_logprob"),
            log_norms=column("log_norms"),
        ),
        pit=np.concatenate([_pit(view.exchange_id, row) for view, row in rows]),
        entropy=column("golden_entropy_nats"), was_said=column("was_said"),
        said_mass=np.clip(column("said_mass"), 0.0, 1.0), n_answers=len(rows),
    )  # fmt: skip


def _pit(exchange_id: str, row: Sequence[GoldenPosition]) -> Floats:
    seed = int.from_bytes(hashlib.blake2b(exchange_id.encode(), digest_size=8).digest())
    above = np.clip([float(position.mass_above or 0.0) for position in row], 0.0, 1.0)
    own = np.exp([min(float(position.golden_logprob or 0.0), 0.0) for position in row])
    return discrete_pit(above, np.minimum(own, 1 - above), rng=np.random.default_rng(seed))


def is_whole(position: GoldenPosition) -> bool:
    """Whether golden knows the whole distribution at a drawn token."""
    numbers = (position.golden_logprob, position.golden_rank, position.golden_entropy_nats, position.mass_above,
               position.said_mass, position.was_said)  # fmt: skip
    norms = position.log_norms
    return None not in numbers and len(norms) == len(RULES) and all(map(math.isfinite, norms))


def weigh(tokens: Sampled) -> SamplerEvidence:
    """Hold every sampler and both catch-alls against plain sampling."""
    drawn = tokens.drawn
    rules, penalties = rule_log_ratios(drawn), penalty_log_ratios(tokens.was_said, tokens.said_mass)
    return SamplerEvidence(
        n=len(tokens.entropy), temperature=temperature_interval(drawn), variance=surprisal_variance(drawn),
        excess_nats=float((-drawn.logprob - tokens.entropy).mean()), rules=rules.sum(axis=0),
        penalties=penalties.sum(axis=0), rule_nats=mixture_process(rules).final,
        penalty_nats=mixture_process(penalties).final, pit_nats=pit_process(tokens.pit).final,
        stray_nats=mixture_process(stray_log_ratios(tokens.pit)).final,
    )  # fmt: skip
