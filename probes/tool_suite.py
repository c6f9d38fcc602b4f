"""Where the cases of the `tools` probe come from: the built-in suite, or a file of the user's own.

The built-in one lies beside this file: ``tool_cases/tools.jsonl`` has one function a line, ``tool_cases/cases.jsonl``
one request a line, whose ``tools`` are names of functions.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from monitor.errors import UsageError
from monitor.tools.case import Case
from monitor.tools.rows import read_rows, row_case

FOLDER = Path(__file__).parent / "tool_cases"
NAME = "tools"
_MARK_CHARS = 8


@lru_cache(maxsize=1)
def built_in() -> tuple[Case, ...]:
    """Return the built-in cases, in the order of their file."""
    functions = {one["name"]: one for one in _objects("tools.jsonl")}
    return tuple(
        row_case({**row, "tools": [_tool(functions[name]) for name in row["tools"]]}, NAME, prefix=NAME)
        for row in _objects("cases.jsonl")
    )


def from_file(path: str) -> tuple[Case, ...]:
    """Return the cases in a JSONL file. Their names carry a hash of the file: another file is another suite.

    Raises
    ------
    UsageError
        When the file cannot be read, or a line of it is no request.
    """
    file = Path(path)
    try:
        data = file.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; give the path of a JSONL file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    return read_rows(text, f"{file.stem}@{hashlib.sha256(data).hexdigest()[:_MARK_CHARS]}")


def chosen(cases: Sequence[Case], n: int | None, seed: int) -> tuple[Case, ...]:
    """Return `n` of `cases` (None: all) by `seed`, in turn from each group, so that no group is left out.

    Conversations that are asked beside different tools go first: they show whether tools reach the prompt at all.
    """
    if n is None or n >= len(cases):
        return tuple(cases)
    groups: dict[str, list[Case]] = {}
    for case in random.Random(f"tools {seed}").sample(list(cases), len(cases)):  # noqa: S311  # a choice, not a secret
        groups.setdefault("".join(case.tags[:1]), []).append(case)
    turns = max(map(len, groups.values()))
    dealt = [group[turn] for turn in range(turns) for group in groups.values() if turn < len(group)]
    controls = _controls(cases)
    return tuple(sorted(dealt, key=lambda case: case.case_id not in controls)[:n])


def _controls(cases: Sequence[Case]) -> set[str]:
    """Names of the cases of one conversation, of those that are held beside different tools."""
    talks: dict[bytes, list[Case]] = {}
    for case in cases:
        if case.tools and case.tool_choice is None:
            talks.setdefault(orjson.dumps(case.messages), []).append(case)
    shared = [some for some in talks.values() if len({orjson.dumps(case.tools) for case in some}) > 1]
    return {case.case_id for case in max(shared, key=len, default=[])}


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": function}


def _objects(name: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (FOLDER / name).read_bytes().splitlines()]
