"""Maps an endpoint's answer onto golden token ids, position by position, and golden scores back onto the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from monitor.codec import finite
from monitor.ports import Scores, ScoreTask, Tokenizer
from monitor.results import GoldenPosition, GoldenView
from monitor.types import Exchange, TokenLogprob, TopToken


@dataclass(frozen=True, slots=True)
class _Slot:
    """One position of the answer in golden ids: the sampled token, and the listed tokens with their logprobs."""

    token_id: int
    logprob: float | None
    listed: dict[int, float]


@dataclass(frozen=True, slots=True)
class Aligned:
    """An exchange in golden ids. ``task`` is None when there is nothing to score; ``problem`` then says why."""

    exchange_id: str
    run_id: str
    prompt_tokens: int
    slots: tuple[_Slot, ...]
    task: ScoreTask | None
    problem: str | None
    prompt_parts: Mapping[str, int] = field(default_factory=dict)
    canonical: bool | None = None

    def view(self, scores: Scores | None) -> GoldenView:
        """The golden view, with positions when there are `scores` for the task."""
        pairs = () if scores is None else tuple(enumerate(self.slots))
        found = [position for t, slot in pairs if (position := _position(t, slot, scores)) is not None]
        lacking = f"the golden side knows {len(found)} of {len(pairs)} positions" if len(found) < len(pairs) else None
        return GoldenView(
            exchange_id=self.exchange_id, run_id=self.run_id, prompt_tokens=self.prompt_tokens,
            prompt_parts=self.prompt_parts, canonical=self.canonical, positions=tuple(found),
            problem=self.problem or lacking,
        )  # fmt: skip


def align(exchange: Exchange, tokenizer: Tokenizer) -> Aligned:
    """Express `exchange` in golden ids.

    The answer is used up to the first token that is not in the golden vocabulary or has no usable logprob; a listed
    alternative that cannot be mapped stays in the rest bucket, which is exact for a tail-bucket divergence.
    """
    request = exchange.request
    if request is None:
        return Aligned(exchange.exchange_id, exchange.run_id, 0, (), None, "the request is not known")
    prompt_ids = tuple(tokenizer.prompt_ids(request.messages, request.tools))
    slots, problem = _slots(exchange.choice.logprobs or (), tokenizer)
    task = None
    if slots:
        task = ScoreTask(
            prompt_ids=prompt_ids,
            completion_ids=tuple(slot.token_id for slot in slots),
            gather=tuple(tuple(slot.listed) for slot in slots),
        )
    return Aligned(
        exchange.exchange_id, exchange.run_id, len(prompt_ids), tuple(slots), task, problem,
        prompt_parts=tokenizer.prompt_parts(request.messages, request.tools),
        canonical=is_canonical([slot.token_id for slot in slots], tokenizer) if slots else None,
    )  # fmt: skip


def is_canonical(ids: Sequence[int], tokenizer: Tokenizer) -> bool:
    """Whether `ids` are the tokens that the tokenizer makes of their own text.

    A model may write a word in other pieces than the tokenizer would; then its text alone does not say which tokens it
    wrote. End tokens do not count, and neither does the last piece, which `max_tokens` may have cut.
    """
    spoken = [identifier for identifier in ids if identifier not in tokenizer.eos_ids]
    again = tokenizer.encode(tokenizer.decode(spoken))
    return again[: len(spoken) - 1] == spoken[:-1]


def _slots(entries: tuple[TokenLogprob, ...], tokenizer: Tokenizer) -> tuple[list[_Slot], str | None]:
    slots: list[_Slot] = []
    for position, entry in enumerate(entries):
        token_id = _id(entry, tokenizer)
        if token_id is None:
            return slots, f"token {entry.token!r} at position {position} is not in the golden vocabulary"
        listed = _listed(entry, token_id, tokenizer)
        if not listed:
            return slots, f"no usable logprob at position {position}"
        slots.append(_Slot(token_id, entry.logprob, listed))
    return slots, None if slots else "the answer has no logprobs"


def _listed(entry: TokenLogprob, token_id: int, tokenizer: Tokenizer) -> dict[int, float]:
    """Golden id -> endpoint logprob of the alternatives and of the sampled token, first mention wins."""
    listed: dict[int, float] = {}
    for top in entry.top:
        top_id = _id(top, tokenizer)
        if top_id is not None and top.logprob is not None:
            listed.setdefault(top_id, top.logprob)
    if entry.logprob is not None:
        listed.setdefault(token_id, entry.logprob)
    return listed


def _id(token: TokenLogprob | TopToken, tokenizer: Tokenizer) -> int | None:
    """Golden id by exact bytes; an endpoint's own id is believed only where it gives no text at all."""
    found = tokenizer.token_id(token.token, token.bytes)
    return token.id if found is None and not token.token and not token.bytes else found


def _position(t: int, slot: _Slot, scores: Scores | None) -> GoldenPosition | None:
    """The golden view of position `t`; None where the golden side knows nothing of it."""
    if scores is None or np.isnan(scores.top_logprobs[t, 0]):
        return None
    listed = zip(slot.listed.values(), scores.gathered[t], strict=True)
    known = [(endpoint, float(golden)) for endpoint, golden in listed if not np.isnan(golden)]
    if not known:
        return None
    golden_top1 = int(scores.top_ids[t, 0])
    endpoint_top1 = max(slot.listed, key=slot.listed.__getitem__)
    return GoldenPosition(
        position=t,
        token_id=slot.token_id,
        golden_logprob=finite(float(scores.logprob[t])),
        golden_rank=int(scores.rank[t]) if scores.rank[t] >= 0 else None,
        golden_entropy_nats=finite(float(scores.entropy_nats[t])),
        golden_top1_logprob=float(scores.top_logprobs[t, 0]),
        endpoint_logprob=slot.logprob,
        endpoint_at_golden_top1=slot.listed.get(golden_top1),
        top1_same=endpoint_top1 == golden_top1,
        endpoint_top=tuple(endpoint for endpoint, _ in known),
        golden_top=tuple(golden for _, golden in known),
    )
