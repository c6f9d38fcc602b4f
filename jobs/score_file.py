"""``weighmaster reference score``: golden scores of given answers, line by line."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from jobs.references import scorer_for
from monitor.codec import finite
from monitor.config_types import ReferenceConfig
from monitor.errors import UsageError
from monitor.ports import Scorer, Scores, ScoreTask, Tokenizer


def run(file: Path, reference: ReferenceConfig, *, echo: Callable[[str], None], report: Callable[[str], None]) -> None:
    """Score the answers in `file`; `echo` gets one JSON line for each, `report` the speed and the memory.

    Raises
    ------
    UsageError
        When a line is neither of the two shapes.
    GoldenError
        When the weights cannot be used, or an answer cannot be scored.
    """
    scorer: Any = scorer_for(reference)
    try:
        _run(file, scorer, echo, report)
    finally:
        scorer.close()


def _run(file: Path, scorer: Any, echo: Callable[[str], None], report: Callable[[str], None]) -> None:
    tasks = list(_tasks(file, scorer.tokenizer))
    started_ns = time.perf_counter_ns()
    for at, scores in _each(scorer, tasks):
        echo(orjson.dumps({"line": at + 1, **_row(tasks[at], scores)}).decode())
    seconds = (time.perf_counter_ns() - started_ns) / 1e9
    n_tokens = sum(len(task.completion_ids) for task in tasks)
    speed = f"{n_tokens / seconds:.0f} tokens/s{_memory(scorer)}"
    report(f"{n_tokens} tokens of {len(tasks)} answers in {seconds:.1f} s, {speed}")


def _each(scorer: Any, tasks: list[ScoreTask]) -> Iterator[tuple[int, Scores]]:
    stream: Iterator[tuple[int, Scores]] = scorer.score_each(tasks, top_k=1)
    return stream


def _memory(scorer: Scorer) -> str:
    peak = getattr(scorer, "peak_memory_bytes", None)
    return f", at most {peak() / 1e9:.2f} GB" if callable(peak) else ""


def _tasks(file: Path, tokenizer: Tokenizer) -> Iterator[ScoreTask]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            yield _task(orjson.loads(line), tokenizer)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{file}, line {number}: needs prompt_ids and completion_ids, or messages and text: {error!r}"
            ) from error


def _task(row: dict[str, Any], tokenizer: Tokenizer) -> ScoreTask:
    if "messages" in row:
        prompt, answer = tokenizer.prompt_ids(row["messages"], row.get("tools", ())), tokenizer.encode(row["text"])
    else:
        prompt, answer = row["prompt_ids"], row["completion_ids"]
    return ScoreTask(prompt_ids=tuple(map(int, prompt)), completion_ids=tuple(map(int, answer)))


def _row(task: ScoreTask, scores: Scores) -> dict[str, Any]:
    return {
        "ids": task.completion_ids,
        "logprob": [finite(float(value)) for value in scores.logprob],
        "rank": [int(rank) if rank >= 0 else None for rank in scores.rank],
        "entropy_nats": [finite(float(value)) for value in scores.entropy_nats],
        "mean_logprob": finite(float(np.mean(scores.logprob))) if len(scores.logprob) else None,
    }
