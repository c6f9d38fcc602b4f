"""Llama 3.1 to 3.3: the whole answer is one JSON object with ``name`` and ``parameters``, or several split by ``;``.

``<|python_tag|>`` may stand before it; without the tag, text is a call only when it begins with ``{`` and has a name.
The other form of 3.1, ``<function=NAME>{...}</function>``, is read too.
"""

import re
from dataclasses import dataclass

from reference.tool_parsers.parsed import Parsed, Reading, Tools, leading_json

TAG = "<|python_tag|>"
_ENDS = ("<|eom_id|>", "<|eot_id|>")
_FUNCTION = re.compile(r"<function=([^>\n]*)>(.*?)(</function>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Llama3:
    """JSON without markers around it."""

    kind: str = "llama3"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read the answer as calls, or leave it as text."""
        del tools
        reading = Reading()
        for end in _ENDS:
            text = text.removesuffix(end)
        before, tag, after = text.partition(TAG)
        if tag:
            reading.say(before)
            _objects(after, reading, tagged=True)
        elif "<function=" in text:
            _functions(text, reading)
        else:
            _objects(text, reading, tagged=False)
        return reading.result()


def _objects(text: str, reading: Reading, *, tagged: bool) -> None:
    rest, n_calls = text.strip(), 0
    while rest:
        value, end = leading_json(rest)
        if not isinstance(value, dict) or (not tagged and not n_calls and "name" not in value):
            if tagged or n_calls or _looks_like_a_call(rest):
                reading.blame("not_json" if end == 0 else "malformed")
            reading.say(rest if n_calls or tagged else text)
            return
        reading.object_call(value)
        n_calls += 1
        rest = rest[end:].lstrip().removeprefix(";").lstrip()


def _looks_like_a_call(text: str) -> bool:
    return re.match(r'\{\s*"(name|type|function)"', text) is not None


def _functions(text: str, reading: Reading) -> None:
    at = 0
    for found in _FUNCTION.finditer(text):
        if found.start() > at:
            reading.say(text[at : found.start()])
        if not found[3]:
            reading.blame("unclosed")
        reading.call(found[1].strip(), found[2].strip())
        at = found.end()
    if at < len(text):
        reading.say(text[at:])


FORMAT = Llama3()
