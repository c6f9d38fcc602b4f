"""Golden answers: token by token, from whatever gives the logprobs of the next token."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from monitor.errors import GoldenError
from monitor.ports import Floats
from monitor.types import Request
from reference.answer import Answer, Step
from reference.batches import Past
from reference.sampling import draw
from reference.scoring import BEYOND_MEMORY, Model, halving, remembered
from reference.tokenizer import GoldenTokenizer


class Reader(Protocol):
    """A model that reads tokens and says what comes next."""

    @property
    def context(self) -> int | None:
        """Most tokens that it can read, where it says so."""
        ...

    def read(self, ids: Sequence[int], past: Any) -> tuple[Floats, Any]:
        """Read `ids` after `past` (None at first); return the logprobs (V,) of the next token, and the new past."""
        ...


class Drawer(Reader, Model, Protocol):
    """A model that goes on in many sequences at once."""

    def open(self, pasts: Sequence[Past]) -> Any:
        """Return rows that go on from `pasts`; ``select(places)`` goes on with some of them only."""
        ...

    def step(self, ids: Sequence[int], rows: Any) -> Floats:
        """Read one more token in each of `rows`; return the logprobs (rows, V) of the next."""
        ...


def generate(
    model: Reader,
    tokenizer: GoldenTokenizer,
    request: Request,
    rng: np.random.Generator,
    *,
    abandoned: Callable[[], bool],
) -> Answer:
    """Return the answer to `request`; it ends at an end token, at ``max_tokens`` or where the context does.

    Temperature and top-p left open mean 1, as the OpenAI API defines. Logprobs are the model's own: neither is applied
    to them. `rng` serves requests without a seed; `abandoned` is asked before each token.

    Raises
    ------
    GoldenError
        When the template refuses the messages, or the prompt exceeds the context or the memory.
    """
    prompt_ids = tuple(tokenizer.prompt_ids(request.messages, request.tools))
    room = _room(model, request, len(prompt_ids))
    source = rng if request.seed is None else np.random.default_rng(request.seed)
    temperature = 1.0 if request.temperature is None else request.temperature
    top_p = 1.0 if request.top_p is None else request.top_p
    steps: list[Step] = []
    unread, past = prompt_ids, None
    while len(steps) < room and not abandoned():
        logprobs, past = _read(model, unread, past)
        chosen = draw(logprobs, temperature=temperature, top_p=top_p, rng=source)
        steps.append(Step.of(chosen, logprobs, n_top=request.top_logprobs or 0))
        if chosen in tokenizer.eos_ids:
            return Answer(prompt_ids=prompt_ids, steps=tuple(steps), finish="stop")
        unread = (chosen,)
    return Answer(prompt_ids=prompt_ids, steps=tuple(steps), finish="length")


@dataclass(slots=True, kw_only=True)
class _Draft:
    """An answer that is being drawn. Its random numbers are its own: they do not depend on what is drawn beside it."""

    prompt_ids: tuple[int, ...]
    room: int
    seed: tuple[int, ...]
    eos_ids: Collection[int]
    steps: list[Step] = field(default_factory=list)
    rng: np.random.Generator = field(init=False)

    def start(self) -> None:
        """Begin, or begin again."""
        self.steps.clear()
        self.rng = np.random.default_rng(self.seed)

    @property
    def last(self) -> int:
        return self.steps[-1].token_id if self.steps else self.prompt_ids[-1]

    @property
    def stopped(self) -> bool:
        return bool(self.steps) and self.last in self.eos_ids

    @property
    def is_done(self) -> bool:
        return self.stopped or len(self.steps) >= self.room

    def take(self, logprobs: Floats, temperature: float, top_p: float) -> None:
        chosen = draw(logprobs, temperature=temperature, top_p=top_p, rng=self.rng)
        self.steps.append(Step.of(chosen, logprobs, n_top=0))

    def answer(self) -> Answer:
        finish: Any = "stop" if self.stopped else "length"
        return Answer(prompt_ids=self.prompt_ids, steps=tuple(self.steps), finish=finish)


def sample(
    model: Drawer,
    prompts: Sequence[Sequence[int]],
    *,
    n: int,
    max_tokens: int,
    seed: int,
    temperature: float,
    top_p: float,
    eos_ids: Collection[int],
    batch_tokens: int,
    progress: Callable[[int, int], None],
) -> list[list[Answer]]:
    """Draw `n` answers to each of `prompts`, many at a time; an answer ends as `generate` says.

    Each answer's random numbers follow from `seed`, its prompt's place and its own, whatever the batch. `batch_tokens`
    bounds what is read at once; four times as much is remembered, or less where the memory does not suffice.
    `progress` gets (answers done, answers in all).

    Raises
    ------
    GoldenError
        When one answer alone exceeds the memory.
    """
    limit = model.context
    rooms = [max_tokens if limit is None else min(max_tokens, limit - len(ids) + 1) for ids in prompts]
    drafts = [
        [_Draft(prompt_ids=tuple(ids), room=room, seed=(seed, at, which), eos_ids=eos_ids)
         for which in range(n)]
        for at, (ids, room) in enumerate(zip(prompts, rooms, strict=True))
    ]  # fmt: skip
    n_done = 0
    for block in _blocks(drafts, 4 * batch_tokens):
        if model.shares and all(len(draft.prompt_ids) > 1 for draft in block):
            for _ in halving(lambda some: _draw_together(model, some, temperature, top_p, batch_tokens), block):
                continue
        else:
            for draft in block:
                _draw_alone(model, draft, temperature, top_p)
        n_done += len(block)
        progress(n_done, n * len(prompts))
    return [[draft.answer() for draft in row] for row in drafts]


def _blocks(drafts: Sequence[Sequence[_Draft]], most_tokens: int) -> Iterator[list[_Draft]]:
    """Cut all drafts into blocks that remember at most `most_tokens` together, prompts of like length side by side."""
    block: list[_Draft] = []
    width = 0
    for draft in sorted((draft for row in drafts for draft in row), key=lambda draft: -len(draft.prompt_ids)):
        width = max(width, len(draft.prompt_ids) + draft.room)
        if block and (len(block) + 1) * width > most_tokens:
            yield block
            block, width = [], len(draft.prompt_ids) + draft.room
        block.append(draft)
    if block:
        yield block


def _draw_together(model: Drawer, block: list[_Draft], temperature: float, top_p: float, batch_tokens: int) -> int:
    """Draw the answers of `block` to their ends; return how many."""
    n_drafts = len(block)
    for draft in block:
        draft.start()
    prompts = list(dict.fromkeys(draft.prompt_ids for draft in block))
    pasts = remembered(model, [ids[:-1] for ids in prompts], None, batch_tokens=batch_tokens)
    by_prompt = dict(zip(prompts, pasts, strict=True))
    rows = model.open([by_prompt[draft.prompt_ids] for draft in block])
    while block:
        for draft, logprobs in zip(block, model.step([draft.last for draft in block], rows), strict=True):
            draft.take(logprobs, temperature, top_p)
        places = [place for place, draft in enumerate(block) if not draft.is_done]
        if places and len(places) < len(block):
            rows.select(places)
        block = [block[place] for place in places]
    return n_drafts


def _draw_alone(model: Reader, draft: _Draft, temperature: float, top_p: float) -> None:
    draft.start()
    unread, past = draft.prompt_ids, None
    while not draft.is_done:
        logprobs, past = _read(model, unread, past)
        draft.take(logprobs, temperature, top_p)
        unread = (draft.last,)


def _read(model: Reader, ids: Sequence[int], past: Any) -> tuple[Floats, Any]:
    try:
        return model.read(ids, past)
    except MemoryError as error:
        raise GoldenError(BEYOND_MEMORY) from error


def _room(model: Reader, request: Request, n_prompt: int) -> int:
    if model.context is None:
        return request.max_tokens
    if n_prompt > model.context:
        raise GoldenError(
            f"prompt {request.prompt_id}: {n_prompt} tokens exceed the golden model's context of {model.context}"
        )
    return min(request.max_tokens, model.context - n_prompt + 1)
