"""Events of a stream that repeat an earlier one in all but the text of their one delta: nearly all of them.

Of such an event only the text needs to be parsed. The proof is made once per pattern, in `Repeats.learn`: the pattern
is the bytes around one string token, and putting another string there changed that one value and nothing else. With any
other string the parser would therefore say the same again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from monitor.wire.choice_state import ChoiceState

_TEXTS = frozenset({"content", "reasoning_content", "reasoning"})
_PATTERNS = 64
"""No more patterns are tried in one stream, so that learning stays cheap where nothing repeats."""


def _nowhere(_text: str, _at_ns: int) -> None:
    """No pattern, no text."""


@dataclass(slots=True)
class Repeats:
    """The pattern in force: what stands before and behind the text. ``head`` None: none was learned."""

    head: bytes | None = None
    tail: bytes = b""
    add: Callable[[str, int], None] = _nowhere
    learned: int = 0

    def text(self, data: bytes) -> str | None:
        """Return the text of `data` if it is a repetition, else None."""
        if self.head is None or not data.startswith(self.head) or not data.endswith(self.tail):
            return None
        text = _parsed(data[len(self.head) : len(data) - len(self.tail)])
        return text if isinstance(text, str) and text else None

    def learn(self, data: bytes, field: str, state: ChoiceState) -> None:
        """Take `data` as the pattern if that proves right; `field` is its `plain_field`, `state` that of its choice."""
        if self.learned >= _PATTERNS:
            return
        self.learned += 1
        value = _parsed(data)
        if value is None:
            return  # it was read leniently
        choice = value["choices"][0]
        head, _, tail = data.rpartition(orjson.dumps(choice["delta"][field]))
        choice["delta"][field] += "."
        if same(_parsed(head + orjson.dumps(choice["delta"][field]) + tail), value):
            self.head, self.tail = head, tail
            self.add = state.add_content if field == "content" else state.add_reasoning


def plain_field(choices: Any) -> str | None:
    """Return the name of the field that holds all that `choices` say, if that is one text of one choice's delta."""
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choice := choices[0], dict):
        return None
    delta = choice.get("delta")
    if type(choice.get("index")) is not int or not isinstance(delta, dict):
        return None
    speaking = [name for name, value in delta.items() if value and name != "role"]
    if len(speaking) != 1 or speaking[0] not in _TEXTS or not isinstance(delta[speaking[0]], str):
        return None
    silent = all(value is None for name, value in choice.items() if name not in {"index", "delta"})
    return speaking[0] if silent and "text" not in choice else None


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
