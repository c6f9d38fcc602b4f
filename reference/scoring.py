"""Which tokens are read once for many sequences, and what happens when the memory does not suffice.

The tokens that all prompts begin with (the system turn) are read once; each prompt with several answers is read once;
the answers are read in batches on top of that. Answers come out as soon as their batch is done.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from monitor.errors import TaskRefusedError
from monitor.ports import Scores, ScoreTask
from reference.batches import Past, Row, Table, plan, unanswered, unpack

# Below this many tokens, reading them twice is cheaper than remembering them.
_WORTH_SHARING = 8
BEYOND_MEMORY = "one sequence exceeds the memory of the device; use cpu or bfloat16"
"""Said where halving a batch does not help."""

_T = TypeVar("_T")
_U = TypeVar("_U")


class Model(Protocol):
    """What scoring needs of golden weights. Both methods raise MemoryError when so many at once do not fit."""

    @property
    def shares(self) -> bool:
        """Whether what it remembers of a prefix can be used by several sequences."""
        ...

    def remember(self, runs: Sequence[Sequence[int]], past: Past | None) -> list[Past]:
        """Read each of `runs` on top of `past`; return what is remembered of `past` and run together."""
        ...

    def score(self, rows: Sequence[Row], top_k: int) -> Table:
        """Read what is unread of all `rows` and score their answers."""
        ...


def score_batches(
    model: Model, tasks: Sequence[ScoreTask], *, top_k: int, batch_tokens: int
) -> Iterator[list[tuple[int, Scores]]]:
    """Score `tasks`; yield (index of the task, its scores) batch by batch, in no particular order.

    Raises
    ------
    TaskRefusedError
        When a single sequence exceeds the memory.
    """
    yield [(at, unanswered(top_k)) for at, task in enumerate(tasks) if not task.completion_ids]
    root, groups = _root(model, tasks, batch_tokens), _groups(tasks)
    n_root = 0 if root is None else root.n_tokens
    shared = [group for group in groups if model.shares and _is_worth_sharing(tasks[group[0]], group, n_root)]
    kept = {at for group in shared for at in group}
    alone = [Row(at, tasks[at], root) for group in groups for at in group if at not in kept]
    for block in _blocks(shared, tasks, n_root, 2 * batch_tokens):
        yield from _score(model, _with_pasts(model, block, tasks, root, batch_tokens), top_k, batch_tokens)
    yield from _score(model, alone, top_k, batch_tokens)


def remembered(model: Model, runs: Sequence[Sequence[int]], past: Past | None, *, batch_tokens: int) -> list[Past]:
    """Read `runs` on top of `past` in batches of at most `batch_tokens`; results in the order of `runs`."""
    found: dict[int, Past] = {}
    order = sorted(range(len(runs)), key=lambda at: -len(runs[at]))
    while order:
        n_rows = max(1, batch_tokens // max(1, len(runs[order[0]])))
        batch, order = order[:n_rows], order[n_rows:]
        for part, pasts in halving(lambda ats: model.remember([runs[at] for at in ats], past), batch):
            found |= dict(zip(part, pasts, strict=True))
    return [found[at] for at in range(len(runs))]


def halving(compute: Callable[[list[_T]], _U], batch: list[_T]) -> Iterator[tuple[list[_T], _U]]:
    """Compute `batch` as a whole; where the memory does not suffice, its halves. Yields each part with its result.

    Raises
    ------
    TaskRefusedError
        When one element alone exceeds the memory.
    """
    result: _U | None = None
    with suppress(MemoryError):
        result = compute(batch)
    if result is not None:
        yield batch, result
        return
    if len(batch) == 1:
        raise TaskRefusedError(BEYOND_MEMORY)
    half = len(batch) // 2
    yield from halving(compute, batch[:half])
    yield from halving(compute, batch[half:])


def _root(model: Model, tasks: Sequence[ScoreTask], batch_tokens: int) -> Past | None:
    """What is remembered of the tokens that all prompts begin with; None when there is nothing to gain."""
    prompts = {task.prompt_ids[:-1] for task in tasks if task.completion_ids}
    if not model.shares or len(prompts) < 2:
        return None
    first, last = min(prompts), max(prompts)  # in this order, all others begin with what these two share
    differing = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    n_shared = next(differing, min(len(first), len(last)))
    if n_shared < _WORTH_SHARING:
        return None
    return remembered(model, [first[:n_shared]], None, batch_tokens=batch_tokens)[0]


def _groups(tasks: Sequence[ScoreTask]) -> list[list[int]]:
    """Indices of the tasks with an answer, prompt by prompt, the longest prompts first."""
    by_prompt: dict[tuple[int, ...], list[int]] = {}
    for at, task in enumerate(tasks):
        if task.completion_ids:
            by_prompt.setdefault(task.prompt_ids, []).append(at)
    return sorted(by_prompt.values(), key=lambda group: -len(tasks[group[0]].prompt_ids))


def _is_worth_sharing(task: ScoreTask, group: Sequence[int], n_root: int) -> bool:
    return len(group) > 1 and len(task.prompt_ids) - 1 - n_root >= _WORTH_SHARING


def _blocks(
    groups: Sequence[list[int]], tasks: Sequence[ScoreTask], n_root: int, most_tokens: int
) -> Iterator[list[list[int]]]:
    """Cut `groups` into blocks whose prompts are remembered at the same time."""
    block: list[list[int]] = []
    n_tokens = 0
    for group in groups:
        length = len(tasks[group[0]].prompt_ids) - n_root
        if block and n_tokens + length > most_tokens:
            yield block
            block, n_tokens = [], 0
        block.append(group)
        n_tokens += length
    if block:
        yield block


def _with_pasts(
    model: Model, block: Sequence[list[int]], tasks: Sequence[ScoreTask], root: Past | None, batch_tokens: int
) -> list[Row]:
    n_root = 0 if root is None else root.n_tokens
    runs = [tasks[group[0]].prompt_ids[n_root:-1] for group in block]
    pasts = remembered(model, runs, root, batch_tokens=batch_tokens)
    return [Row(at, tasks[at], past) for group, past in zip(block, pasts, strict=True) for at in group]


def _score(model: Model, rows: Sequence[Row], top_k: int, batch_tokens: int) -> Iterator[list[tuple[int, Scores]]]:
    for batch in plan(rows, batch_tokens=batch_tokens):
        for part, table in halving(lambda some: model.score(some, top_k), batch):
            yield list(zip([row.at for row in part], unpack(table, [row.task for row in part]), strict=True))
