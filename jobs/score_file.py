"""``weighmaster reference score``: golden scores of given answers, line by line."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from jobs.references import scorer_for
from monitor.codec import finite
from monitor.config_types import ReferenceConfig
from monitor.errors import UsageError
from monitor.ports import Scorer, Scores, ScoreTask, Tokenizer

_SHAPES = "prompt_ids and completion_ids (lists of token ids), or messages (a list) and text"

Row = tuple[int, dict[str, Any]]
"""Number of a line, from 1, and the object on it."""


def run(
    file: Path, rows: Sequence[Row], reference: ReferenceConfig, *, echo: Callable[[str], None],
    report: Callable[[str], None],
) -> None:  # fmt: skip
    """Score the answers in `rows` of `file`; `echo` gets one JSON line for each, `report` the speed and the memory.

    Raises
    ------
    UsageError
        When the template or the tokenizer cannot take what a line holds.
    GoldenError
        When the weights cannot be used, or an answer cannot be scored.
    """
    scorer: Any = scorer_for(reference)
    try:
        _run(file, rows, scorer, echo, report)
    finally:
        scorer.close()


def _run(
    file: Path, rows: Sequence[Row], scorer: Any, echo: Callable[[str], None], report: Callable[[str], None]
) -> None:
    tasks = [_task(f"{file}, line {number}", row, scorer.tokenizer) for number, row in rows]
    started_ns = time.perf_counter_ns()
    for at, scores in _each(scorer, tasks):
        echo(orjson.dumps({"line": rows[at][0], **_row(tasks[at], scores)}).decode())
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


def read_rows(file: Path) -> list[Row]:
    """Return the objects in `file`, one a line; blank lines are passed over.

    Raises
    ------
    UsageError
        When it cannot be read, holds nothing, or a line is neither of the two shapes; names the line.
    """
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}; give a file with one answer a line") from None
    rows = [
        (number, _shaped(f"{file}, line {number}", line)) for number, line in enumerate(lines, 1) if line.strip()
    ]
    if not rows:
        raise UsageError(f"{file}: is empty; write one answer a line: {_SHAPES}")
    return rows


def _shaped(place: str, line: bytes) -> dict[str, Any]:
    try:
        row = orjson.loads(line)
    except ValueError:
        raise UsageError(f"{place}: is not JSON; needs {_SHAPES}") from None
    if not isinstance(row, dict):
        raise UsageError(f"{place}: needs {_SHAPES}")
    if "messages" in row:
        fits = isinstance(row["messages"], list) and all(isinstance(one, dict) for one in row["messages"])
        fits = fits and isinstance(row.get("text"), str) and isinstance(row.get("tools", []), list)
    else:
        fits = all(_are_ids(row.get(name)) for name in ("prompt_ids", "completion_ids"))
    if not fits:
        raise UsageError(f"{place}: needs {_SHAPES}")
    return row


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in value)


def _task(place: str, row: dict[str, Any], tokenizer: Tokenizer) -> ScoreTask:
    if "messages" not in row:
        return ScoreTask(prompt_ids=tuple(row["prompt_ids"]), completion_ids=tuple(row["completion_ids"]))
    try:
        prompt, answer = tokenizer.prompt_ids(row["messages"], row.get("tools", ())), tokenizer.encode(row["text"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{place}: the model's template cannot take these messages: {error}") from error
    return ScoreTask(prompt_ids=tuple(prompt), completion_ids=tuple(answer))


def _row(task: ScoreTask, scores: Scores) -> dict[str, Any]:
    return {
        "ids": task.completion_ids,
        "logprob": [finite(float(value)) for value in scores.logprob],
        "rank": [int(rank) if rank >= 0 else None for rank in scores.rank],
        "entropy_nats": [finite(float(value)) for value in scores.entropy_nats],
        "mean_logprob": finite(float(np.mean(scores.logprob))) if len(scores.logprob) else None,
    }
