"""What golden weights say of single tokens: runs and golden views -> tokens, prompts and a profile. No Streamlit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.results import GoldenPosition, GoldenView, JudgedRun, RunRecord
from monitor.stats.divergence import tail_bucket_kl
from monitor.types import Exchange, TokenLogprob
from monitor.wire.usage import read_usage

NOT_LISTED = "not among those that it listed"
"""Stands for golden's choice where the endpoint's list does not hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One position of an answer. ``text`` is what the endpoint said there, ``golden`` golden's own choice if another.

    ``kl`` in nats, None where there was nothing to compare; ``gap`` is by how many nats golden prefers its own choice,
    0 where they agree.
    """

    place: int
    text: str
    endpoint_logprob: float | None
    golden_logprob: float | None
    rank: int | None
    kl: float | None
    gap: float | None
    golden: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One exchange with what golden says of it."""

    exchange: Exchange
    view: GoldenView
    tokens: tuple[Token, ...]

    @property
    def kl(self) -> float | None:
        """Mean divergence in nats over the positions that have one."""
        return _mean([one.kl for one in self.tokens if one.kl is not None])

    @property
    def same(self) -> tuple[int, int]:
        """At how many of the positions golden would have taken the same token."""
        told = [one for one in self.tokens if one.rank is not None or one.gap is not None]
        return sum(one.golden is None for one in told), len(told)

    @property
    def billed_prompt(self) -> int | None:
        """Prompt tokens as the endpoint counts them."""
        counted = read_usage(self.exchange.usage or {}).input_total
        return None if counted is None else int(counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Divergence at one place of the answers: mean, lowest, highest of ``n``."""

    place: int
    mean: float
    low: float
    high: float
    n: int


def answers(records: Sequence[RunRecord], judged: Sequence[JudgedRun]) -> list[Answer]:
    """Exchanges that the golden side has looked at, furthest from golden first."""
    views: Mapping[str, GoldenView] = {view.exchange_id: view for run in judged for view in run.views}
    found = [
        Answer(exchange=one, view=views[one.exchange_id], tokens=tuple(_tokens(one, views[one.exchange_id])))
        for record in records for one in record.exchanges if one.exchange_id in views
    ]  # fmt: skip
    return sorted(found, key=lambda one: -1.0 if one.kl is None else one.kl, reverse=True)


def profile(found: Sequence[Answer]) -> list[Place]:
    """Divergence by place in the answer, over all answers."""
    by_place: dict[int, list[float]] = {}
    for answer in found:
        for token in answer.tokens:
            if token.kl is not None:
                by_place.setdefault(token.place, []).append(token.kl)
    return [
        Place(place=place, mean=sum(kls) / len(kls), low=min(kls), high=max(kls), n=len(kls))
        for place, kls in sorted(by_place.items())
    ]


def _tokens(exchange: Exchange, view: GoldenView) -> Iterator[Token]:
    entries = exchange.choice.logprobs or ()
    for one in view.positions:
        entry = entries[one.position] if one.position < len(entries) else None
        kl = tail_bucket_kl(one.golden_top, one.endpoint_top) if one.endpoint_top else None
        yield Token(
            place=one.position, text=entry.token if entry else f"#{one.token_id}", kl=kl,
            endpoint_logprob=one.endpoint_logprob, golden_logprob=one.golden_logprob, rank=one.golden_rank,
            gap=None if one.golden_logprob is None else max(0.0, one.golden_top1_logprob - one.golden_logprob),
            golden=_preferred(one, entry),
        )  # fmt: skip


def _preferred(one: GoldenPosition, entry: TokenLogprob | None) -> str | None:
    """Golden's choice where it is another one; None where it is the same, or not known."""
    if one.golden_rank == 0 or (one.golden_rank is None and one.top1_same is not False):
        return None
    names = [top.token for top in entry.top] if entry else []
    if not one.golden_top or len(names) != len(one.golden_top):
        return NOT_LISTED
    best = max(range(len(names)), key=lambda index: one.golden_top[index])
    return names[best] if one.golden_top[best] >= one.golden_top1_logprob - 1e-6 else NOT_LISTED


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
