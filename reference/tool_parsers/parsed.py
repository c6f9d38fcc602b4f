"""What a parser finds, and the readers that several families share. Nothing here raises on any text."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

from monitor.types import ToolCall

Tools = Sequence[Mapping[str, Any]]

_HARMLESS = frozenset({"text_between_calls", "untyped_argument"})


class Parsed(NamedTuple):
    """The text outside of calls, the calls in order, and the faults of the model's writing.

    ``problems``: ``unclosed`` (a call without its end), ``not_json``, ``no_name``, ``arguments_not_object``,
    ``arguments_as_text`` (JSON inside a string), ``no_arguments``, ``malformed`` (the family's own syntax broken),
    ``text_between_calls``, ``untyped_argument`` (a value that could be text or JSON, and no schema to tell). A call
    that cannot be read at all stays in ``content`` as it was written.
    """

    content: str
    tool_calls: tuple[ToolCall, ...]
    problems: tuple[str, ...]

    @property
    def called(self) -> bool:
        """Whether a call was begun, well or badly."""
        return bool(self.tool_calls or self.problems)

    @property
    def readable(self) -> bool:
        """Whether there is a call and every call can be read; text around calls and unsure types do not matter."""
        return bool(self.tool_calls) and not set(self.problems) - _HARMLESS


class Format(Protocol):
    """How one family writes tool calls."""

    @property
    def kind(self) -> str:
        """Name of the family."""
        ...

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read the calls in `text`; `tools`, in the OpenAI shape, give the types of arguments that are written bare."""
        ...


class Reading:
    """Collects what a parser finds on its way through the text."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._calls: list[ToolCall] = []
        self._problems: dict[str, None] = {}

    def say(self, text: str) -> None:
        """Take text outside of calls."""
        if self._calls and text.strip():
            self.blame("text_between_calls")
        self._content.append(text)

    def blame(self, problem: str) -> None:
        """Note a fault, once."""
        self._problems[problem] = None

    def call(self, name: str, arguments: str, identifier: str | None = None) -> None:
        """Take a call whose arguments are the JSON text `arguments`, faulty or not."""
        if not name:
            self.blame("no_name")
        value, fault = read_json(arguments)
        if fault:
            self.blame(fault if arguments.strip() else "no_arguments")
        elif not isinstance(value, dict):
            self.blame("arguments_not_object")
        self._calls.append(ToolCall(id=identifier, name=name or None, arguments=arguments))

    def json_call(self, text: str, *, arguments: Sequence[str] = ("arguments", "parameters")) -> bool:
        """Take a call written as one JSON object with its name; False, with the fault noted, when it is none."""
        value, fault = read_json(text)
        if fault or not isinstance(value, dict):
            self.blame(fault or "malformed")
            return False
        self.object_call(value, arguments=arguments)
        return True

    def object_call(self, value: Mapping[str, Any], *, arguments: Sequence[str] = ("arguments", "parameters")) -> None:
        """Take a call out of an object with ``name`` and one of the keys `arguments`."""
        given = next((value[key] for key in arguments if key in value), None)
        if isinstance(given, str):
            self.blame("arguments_as_text")
        name, identifier = value.get("name"), value.get("id")
        written = "" if given is None else given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        self.call(
            name if isinstance(name, str) else "", written, identifier if isinstance(identifier, str) else None
        )  # fmt: skip

    def result(self) -> Parsed:
        """What was found; content without the white space around calls."""
        content = "".join(self._content)
        return Parsed(content.strip() if self._calls else content, tuple(self._calls), tuple(self._problems))


def read_json(text: str) -> tuple[Any, str | None]:
    """Return the strict JSON value of `text` and None, or None and the fault."""
    try:
        return json.loads(text, parse_constant=_no_constant), None
    except (ValueError, RecursionError):
        return None, "not_json"


def leading_json(text: str) -> tuple[Any, int]:
    """Return the JSON value that `text` begins with, and where it ends; (None, 0) when it begins with none."""
    try:
        value, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text)
    except (ValueError, RecursionError):
        return None, 0
    return value, end


def typed(raw: str, name: str, argument: str, tools: Tools) -> tuple[Any, bool]:
    """Return the value of an argument written without quotes, and whether its type is sure.

    The schema of the tool decides. Without one, what reads as JSON is taken for JSON, and is not sure.
    """
    kind = _schema_type(name, argument, tools)
    value, fault = read_json(raw)
    if kind == "string":
        return raw, True
    if fault:
        return raw, True
    return value, kind is not None


def _schema_type(name: str, argument: str, tools: Tools) -> str | None:
    for tool in tools:
        function = tool.get("function")
        if isinstance(function, Mapping) and function.get("name") == name:
            node: Any = function
            for key in ("parameters", "properties", argument, "type"):
                node = node.get(key) if isinstance(node, Mapping) else None
            return node if isinstance(node, str) else None
    return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
