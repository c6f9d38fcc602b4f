"""Suites as JSON lines: our own, and those of K2VV, MiniMax and evalscope as they are.

A row is a whole chat request. Keys of verifiers that are no part of it are taken as expectations or left out; all
others are sent. The role ``_input`` of K2VV becomes ``system``. Arguments in the history stay as they were written,
broken or not: some rows break them on purpose.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import orjson

from monitor.errors import UsageError
from monitor.tools.case import Case, Expect, ExpectedCall

_OWN = frozenset({"id", "expect", "expected_calls", "tags"})
_FOREIGN = frozenset(
    {"expected_tool_call", "should_call_tool", "official_finish_reason", "check_type", "data_index", "hash"}
)
_TRANSPORT = frozenset({"model", "stream", "stream_options"})
_FIELDS = frozenset({"messages", "tools", "tool_choice", "parallel_tool_calls", "temperature"})
_CAPS = ("max_tokens", "max_completion_tokens")
_LARGEST = 2**31
_TOLD = 5  # mistakes
_EXPECT: Mapping[str, Expect] = {"call": "call", "none": "none", "any": "any"}


def read_rows(text: str, name: str) -> tuple[Case, ...]:
    """Return the cases in `text`, one JSON object a line; blank lines are skipped.

    Parameters
    ----------
    name
        Goes before the ids of the rows; rows without an id are numbered by their line.

    Raises
    ------
    UsageError
        When lines are no requests; the message names the first of them and what they lack.
    """
    cases = tuple(_cases(text, name))
    if not cases:
        raise UsageError(f"{name}: holds no case; write one chat request with `messages` and `tools` a line")
    ids = [case.case_id for case in cases]
    twice = next((one for one in ids if ids.count(one) > 1), None) if len(set(ids)) < len(ids) else None
    if twice is not None:
        raise UsageError(f"{name}: two rows have the id {twice!r}; ids must differ")
    return cases


def _cases(text: str, name: str) -> Iterator[Case]:
    mistakes: list[str] = []
    # Not splitlines(): JSON may hold U+2028 and other separators inside of strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield row_case(orjson.loads(line), f"{name}/{number}", prefix=name)
            except (orjson.JSONDecodeError, ValueError) as error:
                mistakes.append(f"line {number}: {error}")
    if mistakes:
        more = f"; and {len(mistakes) - _TOLD} lines more" if len(mistakes) > _TOLD else ""
        raise UsageError(f"{name}, {'; '.join(mistakes[:_TOLD])}{more}")


def row_case(row: Any, number: str, *, prefix: str) -> Case:
    """Return the case in one row; `number` is its id where it has none.

    Raises
    ------
    ValueError
        When the row is no request.
    """
    if not isinstance(row, dict):
        raise ValueError("a row is a JSON object with `messages` and `tools`")  # noqa: TRY004  # a mistake in a file
    messages, tools = _list(row, "messages"), _list(row, "tools")
    if not messages:
        raise ValueError("`messages` is missing or empty")
    for tool in tools:
        _look_at_tool(tool)
    _look_at_choice(row.get("tool_choice"))
    caps = [_given(row, key, int, "a whole number of at least 1") for key in _CAPS]
    cap = next((int(one) for one in caps if one is not None), None)
    temperature = _given(row, "temperature", float, "a number of at least 0")
    parallel = row.get("parallel_tool_calls")
    if not isinstance(parallel, bool | None):
        raise ValueError("`parallel_tool_calls` must be true or false")  # noqa: TRY004  # a mistake in a file
    if not isinstance(row.get("id"), str | int | None):
        raise ValueError("`id` must be text or a whole number")  # noqa: TRY004  # as above
    left_out = _OWN | _FOREIGN | _TRANSPORT | _FIELDS | set(_CAPS)
    return Case(
        case_id=f"{prefix}/{row['id']}" if isinstance(row.get("id"), str | int) else number,
        messages=tuple(_message(one) for one in messages), tools=tuple(tools), tool_choice=row.get("tool_choice"),
        parallel=parallel, expect=_expect(row), calls=_calls(row),
        body={key: value for key, value in row.items() if key not in left_out}, max_tokens=cap,
        temperature=temperature,
        tags=_tags(row.get("tags") or row.get("check_type") or ()),
    )  # fmt: skip


def _given(row: Mapping[str, Any], key: str, kind: type[int] | type[float], words: str) -> float | None:
    """The number under `key`; None where there is none. A whole number is at most what a 32-bit counter holds."""
    value = row.get(key)
    if value is None:
        return None
    usable = isinstance(value, int) if kind is int else isinstance(value, int | float)
    if not usable or isinstance(value, bool) or not (kind is int) <= value < _LARGEST:
        raise ValueError(f"`{key}` must be {words}")
    return kind(value)


def _tags(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def _list(row: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects under `key`; evalscope writes lists as JSON text."""
    value = row.get(key)
    if isinstance(value, str):
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError(f"`{key}` must be a list of objects")
    return value


def _look_at_tool(tool: Mapping[str, Any]) -> None:
    function = tool.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise ValueError('a tool must be {"type": "function", "function": {"name": ..., "parameters": {...}}}')
    if not isinstance(function.get("parameters"), dict | None):
        raise ValueError(f"`parameters` of {function['name']!r} must be an object")  # noqa: TRY004  # as above


def _look_at_choice(choice: Any) -> None:
    if choice is not None and not isinstance(choice, str | dict):
        raise ValueError("`tool_choice` must be a word or an object")
    if isinstance(choice, dict) and choice.get("type", "function") == "function":
        function = choice.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ValueError('a named `tool_choice` must be {"type": "function", "function": {"name": ...}}')


def _message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**message, "role": "system"} if message.get("role") == "_input" else message


def _expect(row: Mapping[str, Any]) -> Expect:
    if "expect" in row:
        if row["expect"] not in _EXPECT:
            raise ValueError(f"`expect` must be call, none or any, not {row['expect']!r}")
        return _EXPECT[row["expect"]]
    said = row.get("expected_tool_call", row.get("should_call_tool"))
    if not isinstance(said, bool) and isinstance(row.get("official_finish_reason"), str):
        said = row["official_finish_reason"] == "tool_calls"
    if isinstance(said, bool):
        return "call" if said else "none"
    return "call" if row.get("expected_calls") else "any"


def _calls(row: Mapping[str, Any]) -> tuple[ExpectedCall, ...]:
    listed = row.get("expected_calls") or []
    if not isinstance(listed, list) or not all(map(_is_expected, listed)):
        raise ValueError('`expected_calls` must be a list of {"name": ..., "arguments": {...}}')
    return tuple(ExpectedCall(name=one["name"], arguments=one.get("arguments")) for one in listed)


def _is_expected(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("arguments"), dict | None)
