"""Maps an endpoint's answer onto golden token ids, position by position, and golden scores back onto the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from monitor.codec import finite
from monitor.errors import TaskRefusedError
from monitor.ports import Floats, Scores, ScoreTask, Tokenizer
from monitor.results import GoldenPosition, GoldenView
from monitor.types import Exchange, TokenLogprob, TopToken
from monitor.wire.usage import read_usage

_PIECE = "\ufffd"
_RIVAL_NATS = 4.0  # below golden's first choice by more than this, a token is hardly taken for an error of rounding


@dataclass(frozen=True, slots=True)
class _Slot:
    """One position of the answer in golden ids: the given token, and the listed tokens with their logprobs, if any."""

    token_id: int
    logprob: float | None = None
    listed: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """An answer in golden ids: where they are from, whether they are its text's own split, and what is missing."""

    slots: tuple[_Slot, ...] = ()
    source: Literal["logprobs", "text"] | None = None
    canonical: bool | None = None
    problem: str | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Aligned:
    """An exchange in golden ids. ``task`` is None when there is nothing to score; its tokens then say why."""

    exchange_id: str
    run_id: str
    prompt_tokens: int | None
    tokens: _Tokens
    task: ScoreTask | None
    prompt_parts: Mapping[str, int] = field(default_factory=dict)

    end_ids: frozenset[int] = frozenset()

    @property
    def n_spoken(self) -> int | None:
        """Tokens of the answer without the end token; None where only a part of it is known."""
        if not self.tokens.slots or not self.tokens.whole:
            return None
        return sum(slot.token_id not in self.end_ids for slot in self.tokens.slots)

    def view(self, scores: Scores | None) -> GoldenView:
        """The golden view, with positions when there are `scores` for the task."""
        slots = () if scores is None else self.tokens.slots
        found = [position for t in range(len(slots)) if (position := _position(t, slots, scores)) is not None]
        lacking = f"the golden side knows {len(found)} of {len(slots)} positions" if len(found) < len(slots) else None
        return GoldenView(
            exchange_id=self.exchange_id, run_id=self.run_id, prompt_tokens=self.prompt_tokens,
            prompt_parts=self.prompt_parts, tokens_from=self.tokens.source, canonical=self.tokens.canonical,
            completion_tokens=self.n_spoken, positions=tuple(found), problem=self.tokens.problem or lacking,
        )  # fmt: skip


def align(exchange: Exchange, tokenizer: Tokenizer) -> Aligned:
    """Express `exchange` in golden ids.

    With logprob entries the answer is used up to the first token that is not in the golden vocabulary; a listed
    alternative that cannot be mapped stays in the rest bucket, which is exact for a tail-bucket divergence. Without,
    the answer's text is split as the golden tokenizer splits it. A conversation that the golden template refuses, as
    some do a message without content, has no golden prompt: nothing of the exchange is scored, and its view says why.
    """
    request = exchange.request
    if request is None:
        nothing = _Tokens(problem="the request is not known")
        return Aligned(exchange.exchange_id, exchange.run_id, None, nothing, None)
    try:
        prompt_ids = tuple(tokenizer.prompt_ids(request.messages, request.tools))
    except TaskRefusedError as error:
        return Aligned(exchange.exchange_id, exchange.run_id, None, _Tokens(problem=str(error)), None)
    entries = exchange.choice.logprobs
    tokens = _of_entries(entries, tokenizer) if entries else _of_text(exchange, tokenizer)
    task = None
    if tokens.slots:
        task = ScoreTask(
            prompt_ids=prompt_ids,
            completion_ids=tuple(slot.token_id for slot in tokens.slots),
            gather=tuple(tuple(slot.listed) for slot in tokens.slots),
            drawn=request.temperature == 1 and request.top_p in {None, 1},
        )
    return Aligned(
        exchange.exchange_id, exchange.run_id, len(prompt_ids), tokens, task,
        prompt_parts=tokenizer.prompt_parts(request.messages, request.tools), end_ids=tokenizer.eos_ids,
    )  # fmt: skip


def is_canonical(ids: Sequence[int], tokenizer: Tokenizer) -> bool:
    """Whether `ids` are the tokens that the tokenizer makes of their own text.

    A model may write a word in other pieces than the tokenizer would; then its text alone does not say which tokens it
    wrote. End tokens do not count, and neither does the last piece, which `max_tokens` may have cut.
    """
    spoken = [identifier for identifier in ids if identifier not in tokenizer.eos_ids]
    again = tokenizer.encode(tokenizer.decode(spoken))
    return again[: len(spoken) - 1] == spoken[:-1]


def _of_entries(entries: tuple[TokenLogprob, ...], tokenizer: Tokenizer) -> _Tokens:
    slots: list[_Slot] = []
    problem, whole = None, True
    for position, entry in enumerate(entries):
        token_id = _id(entry, tokenizer)
        if token_id is None:
            whole = False
            problem = problem or f"token {entry.token!r} at position {position} is not one of the golden vocabulary"
            break
        listed = _listed(entry, token_id, tokenizer)
        if not listed:
            problem = problem or f"no usable logprob at position {position}"
        slots.append(_Slot(token_id, entry.logprob, listed))
    canonical = is_canonical([slot.token_id for slot in slots], tokenizer) if slots else None
    return _Tokens(tuple(slots), "logprobs" if slots else None, canonical, problem, whole)


def _of_text(exchange: Exchange, tokenizer: Tokenizer) -> _Tokens:
    """The tokens that the golden tokenizer makes of the text, with the end token where the answer ended by itself."""
    choice = exchange.choice
    if choice.reasoning or choice.tool_calls:
        return _Tokens(problem="the answer has no logprobs, and its reasoning or tool calls do not give all its tokens")
    ids = tokenizer.encode(choice.content)
    if not ids:
        return _Tokens(problem="the answer has neither logprobs nor text")
    n_reported = read_usage(exchange.usage or {}).generated
    # An answer that ended by itself has an end token, which some endpoints count.
    stopped = choice.finish == "stop"
    canonical = None if n_reported is None else len(ids) <= n_reported <= len(ids) + stopped
    end = tuple(tokenizer.eos_ids)
    # Of several end tokens, which one ended the answer cannot be seen in its text.
    ended = end if stopped and len(end) == 1 else ()
    slots = tuple(_Slot(identifier) for identifier in (*ids, *ended))
    asked = exchange.request is not None and exchange.request.top_logprobs is not None
    return _Tokens(slots, "text", canonical, "the answer has no logprobs" if asked else None)


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
    """Golden id by exact bytes. A token without text is the end token where the endpoint's own id says so.

    llama.cpp writes the end so. vLLM gives no ids, and writes every token that ends inside a character so (older ones
    as U+FFFD, in its bytes too): which one it was is not known, and the end token would be the wrong guess.
    """
    raw = tuple(token.bytes or ())
    if not token.token and not raw:
        return token.id if token.id in tokenizer.eos_ids else None
    if _PIECE in token.token and raw == tuple(token.token.encode("utf-8", "surrogatepass")):
        return None
    return tokenizer.token_id(token.token, token.bytes)


def _position(t: int, slots: Sequence[_Slot], scores: Scores | None) -> GoldenPosition | None:
    """The golden view of position `t`; None where the golden side knows nothing of it."""
    if scores is None or np.isnan(scores.top_logprobs[t, 0]):
        return None
    slot = slots[t]
    listed = zip(slot.listed.values(), scores.gathered[t], strict=True)
    known = [(endpoint, float(golden)) for endpoint, golden in listed if not np.isnan(golden)]
    if slot.listed and not known:
        return None
    golden_top1 = int(scores.top_ids[t, 0])
    endpoint_top1 = max(slot.listed, key=slot.listed.__getitem__) if slot.listed else None
    drawn = scores.log_norms is not None and scores.mass_above is not None and scores.said_mass is not None
    return GoldenPosition(
        position=t,
        token_id=slot.token_id,
        golden_logprob=finite(float(scores.logprob[t])),
        golden_rank=int(scores.rank[t]) if scores.rank[t] >= 0 else None,
        golden_entropy_nats=finite(float(scores.entropy_nats[t])),
        golden_top1_logprob=float(scores.top_logprobs[t, 0]),
        endpoint_logprob=slot.logprob,
        endpoint_at_golden_top1=slot.listed.get(golden_top1),
        top1_same=None if endpoint_top1 is None else endpoint_top1 == golden_top1,
        endpoint_top=tuple(endpoint for endpoint, _ in known),
        golden_top=tuple(golden for _, golden in known),
        rivals=() if slot.listed or drawn else _rivals(scores, t),
        mass_above=_at(scores.mass_above, t),
        said_mass=_at(scores.said_mass, t),
        was_said=slot.token_id in {other.token_id for other in slots[:t]} if drawn else None,
        log_norms=() if scores.log_norms is None else tuple(map(float, scores.log_norms[t])),
    )


def _rivals(scores: Scores, t: int) -> tuple[tuple[int, float], ...]:
    top = scores.top_logprobs[t]
    near = np.flatnonzero(top >= top[0] - _RIVAL_NATS)
    return tuple((int(scores.top_ids[t, at]), float(top[at])) for at in near)


def _at(values: Floats | None, t: int) -> float | None:
    return None if values is None else finite(float(values[t]))
