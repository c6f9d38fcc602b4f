"""Golden weights in several processes as one scorer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.ports import Scores, ScoreTask, Tokenizer
from monitor.results import Fingerprint
from reference.executor import Block, Executor

_BLOCKS_PER_WORKER = 4
_FEWEST_TOKENS = 2048


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolScorer:
    """Scores on an executor (port `Scorer`). Answers to one prompt stay together, so that it is read once."""

    fingerprint: Fingerprint
    tokenizer: Tokenizer
    executor: Executor
    n_workers: int

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        """Score all `tasks`; results in the order of `tasks`. Raises GoldenError as the engines do."""
        results = dict(self.score_each(tasks, top_k=top_k))
        return [results[at] for at in range(len(tasks))]

    def score_each(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> Iterator[tuple[int, Scores]]:
        """Score `tasks`; yield (index, scores) as they are done."""
        for block, scores in self.executor.run(blocks(tasks, top_k, self.n_workers)):
            yield from zip(block.places, scores, strict=True)

    def close(self) -> None:
        """End the workers. Idempotent."""
        self.executor.close()


def blocks(tasks: Sequence[ScoreTask], top_k: int, n_workers: int) -> list[Block]:
    """Cut `tasks` into blocks of about equal work, a few per worker, prompts whole, the longest prompts first."""
    order = sorted(range(len(tasks)), key=lambda at: (-len(tasks[at].prompt_ids), tasks[at].prompt_ids, at))
    total = sum(_cost(task) for task in tasks)
    enough = max(_FEWEST_TOKENS, total // (_BLOCKS_PER_WORKER * n_workers))
    made: list[list[int]] = []
    cost = 0
    for at in order:
        same = made and tasks[made[-1][-1]].prompt_ids == tasks[at].prompt_ids
        if not made or (cost >= enough and not same):
            made.append([])
            cost = 0
        made[-1].append(at)
        cost += _cost(tasks[at])
    return [Block(tuple(places), tuple(tasks[at] for at in places), top_k) for places in made]


def _cost(task: ScoreTask) -> int:
    return len(task.prompt_ids) + len(task.completion_ids)
