"""Score tasks as padded arrays and back: which are scored together, and whether they can be scored at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from monitor.errors import TaskRefusedError
from monitor.ports import Floats, Ints, Scores, ScoreTask

_REMEMBERED = 8


class Past(Protocol):
    """What a model remembers of tokens that it has read."""

    @property
    def n_tokens(self) -> int:
        """How many tokens those were."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Task number `at`, with the first tokens of its prompt read already: `past` holds them, None holds none."""

    at: int
    task: ScoreTask
    past: Past | None = None

    @property
    def n_read(self) -> int:
        """Tokens that `past` holds."""
        return 0 if self.past is None else self.past.n_tokens

    @property
    def unread(self) -> tuple[int, ...]:
        """Tokens that the model must still read: the last token of the answer predicts nothing."""
        return (self.task.prompt_ids + self.task.completion_ids)[self.n_read : -1]

    @property
    def n_unread(self) -> int:
        """How many those are."""
        return n_inputs(self.task) - self.n_read


def n_inputs(task: ScoreTask) -> int:
    """Return how many tokens the model must read for `task`: the last token of the answer predicts nothing."""
    return len(task.prompt_ids) + len(task.completion_ids) - 1


def plan(rows: Sequence[Row], *, batch_tokens: int) -> list[list[Row]]:
    """Return batches of `rows`, each of at most `batch_tokens` unread tokens with padding.

    Rows with the same past stand together, and rows of like length, so little is padded; a row longer than
    `batch_tokens` gets a batch of its own. What the rows of a batch remember is bounded too, at eight times as many
    tokens. Longest first shows at once whether the memory suffices.
    """
    order = sorted(rows, key=lambda row: (-row.n_read, id(row.past), -row.n_unread))
    batches: list[list[Row]] = []
    width = 0
    for row in order:
        n_rows = len(batches[-1]) + 1 if batches else 0
        width = max(width, row.n_unread)
        fits = n_rows * width <= batch_tokens
        if n_rows and fits and n_rows * (batches[-1][0].n_read + width) <= _REMEMBERED * batch_tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
            width = row.n_unread
    return batches


def check(tasks: Sequence[ScoreTask], *, n_vocab: int, context: int | None) -> None:
    """Refuse what the model cannot be asked.

    Raises
    ------
    TaskRefusedError
        When a prompt is empty, a sequence exceeds the context, or an id is outside the vocabulary.
    ValueError
        When ``gather`` is neither empty nor as long as the answer (our bug).
    """
    for at, task in enumerate(tasks):
        place = f"score task {at}"
        if not task.prompt_ids:
            raise TaskRefusedError(f"{place}: empty prompt; the first token of an answer needs something before it")
        if context is not None and n_inputs(task) > context:
            raise TaskRefusedError(
                f"{place}: {n_inputs(task)} tokens exceed the golden model's context of {context}; shorten the answer"
            )
        if task.gather and len(task.gather) != len(task.completion_ids):
            raise ValueError(f"{place}: gather has {len(task.gather)} positions, answer {len(task.completion_ids)}")
        for ids in (task.prompt_ids, task.completion_ids, *task.gather):
            if ids and not 0 <= min(ids) <= max(ids) < n_vocab:
                raise TaskRefusedError(f"{place}: token ids {min(ids)}..{max(ids)} leave the vocabulary of {n_vocab}")


@dataclass(frozen=True, slots=True)
class Table:
    """Scores of the positions of a whole batch, one under the other; the columns of `gathered` are padded.

    The last three are there when a task of the batch is ``drawn``.
    """

    logprob: Floats
    rank: Ints
    entropy_nats: Floats
    top_ids: Ints
    top_logprobs: Floats
    gathered: Floats
    mass_above: Floats | None = None
    said_mass: Floats | None = None
    log_norms: Floats | None = None


def unpack(table: Table, tasks: Sequence[ScoreTask]) -> list[Scores]:
    """Return the scores of each task, cut out of the table of all of them."""
    ends = np.cumsum([len(task.completion_ids) for task in tasks])
    return [_cut(table, int(end) - len(task.completion_ids), task) for end, task in zip(ends, tasks, strict=True)]


def unanswered(top_k: int) -> Scores:
    """Return the scores of a task without an answer: no positions."""
    none, no_ids = np.zeros(0), np.zeros(0, dtype=np.int64)
    top_ids, top_logprobs = np.zeros((0, top_k), dtype=np.int64), np.zeros((0, top_k))
    return Scores(
        logprob=none, rank=no_ids, entropy_nats=none, top_ids=top_ids, top_logprobs=top_logprobs, gathered=()
    )


def _cut(table: Table, start: int, task: ScoreTask) -> Scores:
    part = slice(start, start + len(task.completion_ids))
    rows = zip(table.gathered[part], task.gather, strict=bool(task.gather))

    def if_drawn(column: Floats | None) -> Floats | None:
        return column[part] if task.drawn and column is not None else None

    return Scores(
        logprob=table.logprob[part],
        rank=table.rank[part],
        entropy_nats=table.entropy_nats[part],
        top_ids=table.top_ids[part],
        top_logprobs=table.top_logprobs[part],
        gathered=tuple(row[: len(ids)] for row, ids in rows),
        mass_above=if_drawn(table.mass_above),
        said_mass=if_drawn(table.said_mass),
        log_norms=if_drawn(table.log_norms),
    )


def padded_gather(tasks: Sequence[ScoreTask]) -> Ints:
    """Return the ids to gather at each position of each task, shape (positions, widest), padded with id 0."""
    wanted = [ids for task in tasks for ids in (task.gather or ((),) * len(task.completion_ids))]
    table = np.zeros((len(wanted), max(map(len, wanted), default=0)), dtype=np.int64)
    for row, ids in zip(table, wanted, strict=True):
        row[: len(ids)] = ids
    return table


def said_before(tasks: Sequence[ScoreTask]) -> Ints:
    """Return the distinct ids in front of each position of each answer, shape (positions, widest), padded with -1.

    Without columns when no task is ``drawn``: nobody wants to know.
    """
    if not any(task.drawn for task in tasks):
        return np.zeros((sum(len(task.completion_ids) for task in tasks), 0), dtype=np.int64)
    rows = [sorted(set(task.completion_ids[:at])) for task in tasks for at in range(len(task.completion_ids))]
    table = np.full((len(rows), max(1, *map(len, rows))), -1, dtype=np.int64)
    for row, ids in zip(table, rows, strict=True):
        row[: len(ids)] = ids
    return table


def padded(runs: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return token ids and mask (1 where there is a token), both (runs, longest), padded on the right."""
    ids = np.zeros((len(runs), max(map(len, runs))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for at, run in enumerate(runs):
        ids[at, : len(run)] = run
        mask[at, : len(run)] = 1
    return ids, mask


def predicting(rows: Sequence[Row]) -> tuple[Ints, Ints]:
    """Return row and column of each unread position that predicts a token of an answer, task by task."""
    lines = np.repeat(np.arange(len(rows)), [len(row.task.completion_ids) for row in rows])
    columns = [np.arange(row.n_unread - len(row.task.completion_ids), row.n_unread) for row in rows]
    return lines, np.concatenate(columns)
