"""Score tasks as padded arrays and back: which are scored together, and whether they can be scored at all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.errors import GoldenError
from monitor.ports import Floats, Ints, Scores, ScoreTask


def n_inputs(task: ScoreTask) -> int:
    """Return how many tokens the model must read for `task`: the last token of the answer predicts nothing."""
    return len(task.prompt_ids) + len(task.completion_ids) - 1


def plan(tasks: Sequence[ScoreTask], *, batch_tokens: int) -> list[list[int]]:
    """Return batches of indices into `tasks`, longest first, each of at most `batch_tokens` tokens with padding.

    Tasks of like length share a batch, so little is padded; a task longer than `batch_tokens` gets one of its own.
    Longest first shows at once whether the memory suffices. Tasks without an answer are in no batch.
    """
    order = sorted((at for at, task in enumerate(tasks) if task.completion_ids), key=lambda at: -n_inputs(tasks[at]))
    batches: list[list[int]] = []
    for at in order:
        room = batches and (len(batches[-1]) + 1) * n_inputs(tasks[batches[-1][0]]) <= batch_tokens
        if room:
            batches[-1].append(at)
        else:
            batches.append([at])
    return batches


def check(tasks: Sequence[ScoreTask], *, n_vocab: int, context: int | None) -> None:
    """Refuse what the model cannot be asked.

    Raises
    ------
    GoldenError
        When a prompt is empty, a sequence exceeds the context, or an id is outside the vocabulary.
    ValueError
        When ``gather`` is neither empty nor as long as the answer (our bug).
    """
    for at, task in enumerate(tasks):
        place = f"score task {at}"
        if not task.prompt_ids:
            raise GoldenError(f"{place}: empty prompt; the first token of an answer needs something before it")
        if context is not None and n_inputs(task) > context:
            raise GoldenError(
                f"{place}: {n_inputs(task)} tokens exceed the golden model's context of {context}; shorten the answer"
            )
        if task.gather and len(task.gather) != len(task.completion_ids):
            raise ValueError(f"{place}: gather has {len(task.gather)} positions, answer {len(task.completion_ids)}")
        for ids in (task.prompt_ids, task.completion_ids, *task.gather):
            if ids and not 0 <= min(ids) <= max(ids) < n_vocab:
                raise GoldenError(f"{place}: token ids {min(ids)}..{max(ids)} leave the vocabulary of {n_vocab}")


@dataclass(frozen=True, slots=True)
class Rows:
    """Scores of the positions of a whole batch, one under the other; the columns of `gathered` are padded."""

    logprob: Floats
    rank: Ints
    entropy_nats: Floats
    top_ids: Ints
    top_logprobs: Floats
    gathered: Floats


def unpack(rows: Rows, tasks: Sequence[ScoreTask]) -> list[Scores]:
    """Return the scores of each task, cut out of the rows of all of them."""
    ends = np.cumsum([len(task.completion_ids) for task in tasks])
    return [_cut(rows, int(end) - len(task.completion_ids), task) for end, task in zip(ends, tasks, strict=True)]


def unanswered(top_k: int) -> Scores:
    """Return the scores of a task without an answer: no positions."""
    none, no_ids = np.zeros(0), np.zeros(0, dtype=np.int64)
    top_ids, top_logprobs = np.zeros((0, top_k), dtype=np.int64), np.zeros((0, top_k))
    return Scores(
        logprob=none, rank=no_ids, entropy_nats=none, top_ids=top_ids, top_logprobs=top_logprobs, gathered=()
    )


def _cut(rows: Rows, start: int, task: ScoreTask) -> Scores:
    part = slice(start, start + len(task.completion_ids))
    return Scores(
        logprob=rows.logprob[part],
        rank=rows.rank[part],
        entropy_nats=rows.entropy_nats[part],
        top_ids=rows.top_ids[part],
        top_logprobs=rows.top_logprobs[part],
        gathered=tuple(row[: len(ids)] for row, ids in zip(rows.gathered[part], task.gather, strict=bool(task.gather))),
    )


def padded_gather(tasks: Sequence[ScoreTask]) -> Ints:
    """Return the ids to gather at each position of each task, shape (positions, widest), padded with id 0."""
    wanted = [ids for task in tasks for ids in (task.gather or ((),) * len(task.completion_ids))]
    table = np.zeros((len(wanted), max(map(len, wanted), default=0)), dtype=np.int64)
    for row, ids in zip(table, wanted, strict=True):
        row[: len(ids)] = ids
    return table


def padded_inputs(tasks: Sequence[ScoreTask]) -> tuple[Ints, Ints]:
    """Return input ids and attention mask, both (tasks, longest), padded on the right."""
    ids = np.zeros((len(tasks), max(map(n_inputs, tasks))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for at, task in enumerate(tasks):
        ids[at, : n_inputs(task)] = (task.prompt_ids + task.completion_ids)[:-1]
        mask[at, : n_inputs(task)] = 1
    return ids, mask


def predicting(tasks: Sequence[ScoreTask]) -> tuple[Ints, Ints]:
    """Return row and column of each input position that predicts a token of an answer, task by task."""
    rows = np.repeat(np.arange(len(tasks)), [len(task.completion_ids) for task in tasks])
    columns = np.concatenate([np.arange(len(task.prompt_ids) - 1, n_inputs(task)) for task in tasks])
    return rows, columns
