"""Events of a stream that repeat an earlier one in all but a text, and perhaps a value beside it: nearly all of them.

Of such an event only these are parsed. The proof is made once per pattern, in `Repeats.learn`: the pattern is the bytes
around one string (and around one more value), and putting others there changed those and nothing else. With any other
string and value there the parser would therefore say the same again.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import orjson

from monitor.wire.choice_state import ChoiceState

_TEXTS = frozenset({"content", "reasoning_content", "reasoning"})
_PATTERNS = 64
"""No more patterns are tried in one stream, so that learning stays cheap where nothing repeats."""

_SHALLOW_BYTES, _SHALLOW_OPENINGS = 2000, 1000
"""A value that is no longer, or opens no more objects and lists, nests less deeply than the parser forbids."""

Add = Callable[[str, int], None]
Take = Callable[[Any], object]


class Spoken(NamedTuple):
    """All that a choice says: one text, the value of `key` in `holder`. ``call`` is the index of the call it is for."""

    holder: dict[str, Any]
    key: str
    call: int | None = None


class _Pattern(NamedTuple):
    """What stands before, between and behind the values that change. ``take`` None: only the text changes."""

    head: bytes
    middle: bytes
    tail: bytes
    text_first: bool
    add: Add
    take: Take | None

    def repeat(self, data: bytes, at_ns: int) -> bool:
        """Take the values in `data` if it has this pattern and a text; return whether it was so.

        What is no JSON has not this pattern.
        """
        head, middle, tail, text_first, add, take = self
        if not data.startswith(head) or not data.endswith(tail):
            return False
        text, value = data[len(head) : len(data) - len(tail)], None
        try:
            if take is not None:
                first, _, second = text.partition(middle)
                text, beside = (first, second) if text_first else (second, first)
                if len(beside) > _SHALLOW_BYTES and beside.count(b"[") + beside.count(b"{") > _SHALLOW_OPENINGS:
                    return False
                value = orjson.loads(beside)
            said = orjson.loads(text)
        except orjson.JSONDecodeError:
            return False
        if type(said) is not str or not said:
            return False
        add(said, at_ns)
        if take is not None and value is not None:
            take(value)
        return True


@dataclass(slots=True)
class Repeats:
    """The pattern in force, if one was learned, and how many were tried."""

    pattern: _Pattern | None = None
    learned: int = 0

    def take(self, data: bytes, at_ns: int) -> bool:
        """Take `data` if it is a repetition whose text is not empty; return whether it was."""
        return self.pattern is not None and self.pattern.repeat(data, at_ns)

    def learn(self, data: bytes, state: ChoiceState, take_usage: Take) -> None:
        """Take `data` as the pattern if that proves right. It was just read, its one choice into `state`."""
        if self.learned >= _PATTERNS:
            return
        self.learned += 1
        value = _parsed(data)
        spoken = None if value is None else spoken_by(value["choices"])  # None: it was read leniently
        if spoken is None or (spoken.call is not None and spoken.call not in state.calls.by_index):
            return
        add = _adder(spoken, state)
        choice = value["choices"][0]
        beside = choice.get("logprobs") is not None, value.get("usage") is not None
        if beside == (False, False):
            self._prove(data, value, spoken, add)
        elif beside == (True, False):
            self._prove(data, value, spoken, add, (choice, "logprobs", state.add_logprobs))
        elif beside == (False, True):
            self._prove(data, value, spoken, add, (value, "usage", take_usage))

    def _prove(
        self, data: bytes, value: Any, spoken: Spoken, add: Add, beside: tuple[dict[str, Any], str, Take] | None = None
    ) -> None:
        """Make the pattern, and keep it if other values in their places change them and nothing else."""
        text, take, other = orjson.dumps(spoken.holder[spoken.key]), None, b""
        start = end = len(data)
        if beside is not None:
            holder, key, take = beside
            start, end = _span(data, key)
            holder[key], other = None, b"null"
        before, after = data[:start], data[end:]
        text_first = text in before
        part, _, rest = (before if text_first else after).rpartition(text)
        head, middle, tail = (part, rest, after) if text_first else (before, part, rest)
        spoken.holder[spoken.key] += "."
        changed = orjson.dumps(spoken.holder[spoken.key])
        first, second = (changed, other) if text_first else (other, changed)
        if same(_parsed(head + first + middle + second + tail), value):
            if take is None:
                middle, tail = b"", middle + tail
            self.pattern = _Pattern(head, middle, tail, text_first, add, take)


def spoken_by(choices: Any) -> Spoken | None:
    """Return the one text that is all that `choices` say (beside logprobs), if that is so."""
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choice := choices[0], dict):
        return None
    delta = choice.get("delta")
    if type(choice.get("index")) is not int or not isinstance(delta, dict):
        return None
    speaking = [name for name, value in delta.items() if value and name != "role"]
    if len(speaking) != 1 or "text" in choice:
        return None
    if any(value is not None for name, value in choice.items() if name not in {"index", "delta", "logprobs"}):
        return None
    name = speaking[0]
    if name == "tool_calls":
        return _arguments(delta[name])
    return Spoken(delta, name) if name in _TEXTS and isinstance(delta[name], str) else None


def _arguments(calls: Any) -> Spoken | None:
    """A further piece of the arguments of one call that has begun."""
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(call := calls[0], dict):
        return None
    function, index = call.get("function"), call.get("index")
    if type(index) is not int or call.get("id") or not isinstance(function, dict) or function.get("name"):
        return None
    told = function.get("arguments")
    return Spoken(function, "arguments", index) if told and isinstance(told, str) else None


def _adder(spoken: Spoken, state: ChoiceState) -> Add:
    """How `state` takes more of what is spoken."""
    if spoken.call is not None:
        return partial(state.calls.add_arguments, spoken.call)
    return state.add_content if spoken.key == "content" else state.add_reasoning


def _span(data: bytes, key: str) -> tuple[int, int]:
    """Where the value of the last `key` begins and ends; anywhere if that cannot be told, which proves nothing."""
    text = data.decode("latin-1")
    start = text.rfind(f'"{key}"') + len(key) + 2
    start += len(text[start:]) - len(text[start:].lstrip(": \t\r\n"))
    try:
        return start, json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start, start


def same(value: Any, other: Any) -> bool:
    """Whether two parsed values are equal; those nested as deeply as the parser allows are not compared."""
    try:
        return bool(value == other)
    except RecursionError:
        return False


def _parsed(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
