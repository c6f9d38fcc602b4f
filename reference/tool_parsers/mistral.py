"""Mistral: ``[TOOL_CALLS]`` and then a JSON list of calls, or (since v11) ``NAME[ARGS]{...}`` for each call.

``[CALL_ID]`` with nine characters may stand between name and arguments; the newest form has no ``[ARGS]``.
"""

import re
from dataclasses import dataclass

from reference.tool_parsers.parsed import Parsed, Reading, Tools, leading_json

MARK = "[TOOL_CALLS]"
_NAMED = re.compile(r"\s*([\w.\-]+)\s*(?:\[CALL_ID\]([A-Za-z0-9]+))?\s*(?:\[ARGS\])?\s*(?=\{)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistral:
    """A list after one marker, or a marker before each call."""

    kind: str = "mistral"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read what follows the markers."""
        del tools
        reading = Reading()
        before, *parts = text.removesuffix("</s>").split(MARK)
        reading.say(before)
        for part in parts:
            rest = _list(part, reading) if part.lstrip().startswith(("[{", "[ {", "[\n")) else _named(part, reading)
            if rest.strip():
                reading.say(rest)
        return reading.result()


def _list(text: str, reading: Reading) -> str:
    """Read a JSON list of calls; return what is left."""
    body = text.lstrip()
    value, end = leading_json(body)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        reading.blame("not_json" if end == 0 else "malformed")
        return MARK + text
    for one in value:
        reading.object_call(one)
    return body[end:]


def _named(text: str, reading: Reading) -> str:
    """Read one call with its name in front; return what is left."""
    found = _NAMED.match(text)
    if found is None:
        reading.blame("malformed")
        return MARK + text
    body = text[found.end() :]
    _, end = leading_json(body)
    reading.call(found[1], body[:end] if end else body, found[2])
    return body[end:] if end else ""


FORMAT = Mistral()
