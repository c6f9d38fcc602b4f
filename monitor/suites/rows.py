"""From a row of a suite file to a case, with every mistake named by its place; and back."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

import monitor.suites.oracles
from monitor.catalogue import scan
from monitor.codec import plain
from monitor.errors import Problem
from monitor.suites.call_mistakes import calls_without_tools, unknown_in_calls
from monitor.suites.case import MAX_REPEATS, PRIVACIES, SuiteCase
from monitor.suites.grade import Oracle
from monitor.suites.oracle_mistakes import mistakes_in, unknown

MAX_TOKENS = 256
MAX_WEIGHT = 1_000_000
KEYS = ("id", "messages", "prompt", "tools", "parameters", "oracles", "repeats", "weight", "tags", "privacy")
_OWN_PARAMETERS = {"max_tokens": (1, 1_000_000), "temperature": (0, 100), "top_p": (0, 1)}
_NOT_SENT = frozenset({"model", "messages", "tools", "stream", "stream_options", "n", "seed", "logprobs"})

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")

Told = Callable[[Problem], None]
"""Takes a mistake."""


class RowError(Exception):
    """A row is no case; the mistakes were told."""


@lru_cache(maxsize=1)
def kinds() -> dict[str, type]:
    """Return the oracles that exist, by kind."""
    return scan(monitor.suites.oracles, "ORACLE")


def case_of(row: Any, number: int, place: str, defaults: Mapping[str, Any], tell: Told) -> SuiteCase:
    """Return the case in `row`; `defaults` hold where it says nothing.

    Raises
    ------
    RowError
        When it is none; all its mistakes were told.
    """
    mistakes: list[Problem] = []
    if not isinstance(row, Mapping):
        tell(Problem(place, "a case is an object", '{"prompt": "...", "oracles": [...]}'))
        raise RowError
    mistakes += unknown(row, KEYS, place)
    parameters = _parameters(row, defaults, place, mistakes)
    messages, tools = _messages(row, place, mistakes), _tools(row, place, mistakes)
    oracles = _oracles(row.get("oracles"), place, mistakes)
    if all(one.path != f"{place}.tools" for one in mistakes):
        mistakes += calls_without_tools(oracles, tools, place)
    made = {
        "case_id": str(row.get("id", number)), "messages": messages, "tools": tools, "parameters": parameters,
        "oracles": oracles, **counts_of(row, defaults, place, mistakes), "tags": _tags(row, place, mistakes),
    }  # fmt: skip
    if mistakes:
        for one in mistakes:
            tell(one)
        raise RowError
    return SuiteCase(**made)


def row_of(case: SuiteCase) -> dict[str, Any]:
    """Return the row that `case_of` reads as `case`."""
    oracles = [{"kind": one.kind, **plain(one)} for one in case.oracles]
    return {
        "id": case.case_id, "messages": plain(list(case.messages)), "tools": plain(list(case.tools)),
        "parameters": plain(dict(case.parameters)), "oracles": oracles, "repeats": case.repeats,
        "weight": case.weight, "tags": list(case.tags), "privacy": case.privacy,
    }  # fmt: skip


def counts_of(
    row: Mapping[str, Any], defaults: Mapping[str, Any], place: str, mistakes: list[Problem]
) -> dict[str, Any]:
    """Return how often, how heavy and how private: what cases and families of generated ones have in common."""
    repeats, weight = row.get("repeats", defaults.get("repeats", 1)), row.get("weight", 1.0)
    privacy = row.get("privacy", defaults.get("privacy", "hash"))
    if not _is_number(repeats) or not 1 <= repeats <= MAX_REPEATS or int(repeats) != repeats:
        mistakes.append(Problem(f"{place}.repeats", f"must be a whole number from 1 to {MAX_REPEATS}"))
    if not _is_number(weight) or not 0 < weight <= MAX_WEIGHT:
        mistakes.append(Problem(f"{place}.weight", f"must be a number above 0, at most {MAX_WEIGHT:,}"))
    if privacy not in PRIVACIES:
        mistakes.append(Problem(f"{place}.privacy", f"must be one of {', '.join(PRIVACIES)}"))
    return {"repeats": repeats if mistakes else int(repeats), "weight": weight, "privacy": privacy}


def _messages(row: Mapping[str, Any], place: str, mistakes: list[Problem]) -> tuple[Mapping[str, Any], ...]:
    messages, prompt = row.get("messages"), row.get("prompt")
    if isinstance(prompt, str) and prompt and messages is None:
        return ({"role": "user", "content": prompt},)
    fine = isinstance(messages, list) and messages and prompt is None
    if fine and all(_is_message(one) for one in messages or ()):
        return tuple(messages or ())
    shape = f"write `messages` (objects with `content` and a `role`: {', '.join(_ROLES)}) or `prompt`"
    mistakes.append(Problem(f"{place}.messages", shape))
    return ()


def _is_message(one: Any) -> bool:
    return (
        isinstance(one, dict) and one.get("role") in _ROLES
        and isinstance(one.get("content"), str | list | None)
    )  # fmt: skip


def _tools(row: Mapping[str, Any], place: str, mistakes: list[Problem]) -> tuple[Mapping[str, Any], ...]:
    tools = row.get("tools") or []
    if isinstance(tools, list) and all(_is_tool(one) for one in tools):
        return tuple(tools)
    shape = '{"type": "function", "function": {"name": ..., "parameters": {...}}}'
    mistakes.append(Problem(f"{place}.tools", f"a tool must be {shape}"))
    return ()


def _is_tool(tool: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str) and isinstance(
        function.get("parameters"), dict | None
    )  # fmt: skip


def _parameters(
    row: Mapping[str, Any], defaults: Mapping[str, Any], place: str, mistakes: list[Problem]
) -> dict[str, Any]:
    said = row.get("parameters") or {}
    if not isinstance(said, dict):
        mistakes.append(Problem(f"{place}.parameters", "must be an object"))
        return {}
    return checked({"max_tokens": MAX_TOKENS, **(defaults.get("parameters") or {}), **said}, place, mistakes)


def checked(parameters: dict[str, Any], place: str, mistakes: list[Problem]) -> dict[str, Any]:
    """Return `parameters` after a look at those that every protocol says, and at those that a suite must not say."""
    for name, (low, high) in _OWN_PARAMETERS.items():
        value = parameters.get(name)
        if value is not None and not (_is_number(value) and low <= value <= high):
            mistakes.append(Problem(f"{place}.parameters.{name}", f"must be a number from {low} to {high}"))
    if isinstance(tokens := parameters.get("max_tokens"), float) and not tokens.is_integer():
        mistakes.append(Problem(f"{place}.parameters.max_tokens", "must be a whole number"))
    refused = sorted(_NOT_SENT & parameters.keys())
    mistakes.extend(Problem(f"{place}.parameters.{name}", "is not for a suite to say") for name in refused)
    return parameters


def _tags(row: Mapping[str, Any], place: str, mistakes: list[Problem]) -> tuple[str, ...]:
    tags = row.get("tags") or []
    if isinstance(tags, list) and all(isinstance(one, str) for one in tags):
        return tuple(tags)
    mistakes.append(Problem(f"{place}.tags", "must be a list of texts"))
    return ()


def _oracles(rows: Any, place: str, mistakes: list[Problem]) -> tuple[Oracle, ...]:
    if not isinstance(rows, list) or not rows:
        mistakes.append(Problem(f"{place}.oracles", "a case without an oracle tells nothing", "list at least one"))
        return ()
    made = [_oracle(one, f"{place}.oracles[{at}]", mistakes) for at, one in enumerate(rows)]
    return tuple(one for one in made if one is not None)


def _oracle(row: Any, place: str, mistakes: list[Problem]) -> Oracle | None:
    kind = row.get("kind") if isinstance(row, dict) else None
    known = kinds().get(kind) if isinstance(kind, str) else None
    if known is None:
        mistakes.append(Problem(f"{place}.kind", f"must be one of {', '.join(sorted(kinds()))}"))
        return None
    fields = {key: value for key, value in row.items() if key != "kind"}
    found = [*unknown(fields, [one.name for one in dataclasses.fields(known)], place), *unknown_in_calls(row, place)]
    try:
        made: Oracle = _adapter(known).validate_python(fields)
    except ValidationError as error:
        found += mistakes_in(error, place)
    else:
        found += [Problem(place, made.problem)] if made.problem else []
        if not found:
            return made
    mistakes.extend(found)
    return None


@lru_cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    """What makes an oracle of a row: making it takes most of the time that a large suite would need."""
    return TypeAdapter(kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
