"""GLM 4.5 and later: the name, then pairs of ``<arg_key>`` and ``<arg_value>``, in each ``<tool_call>`` block.

Values that are not text are JSON, text stands bare: the schema says which is which.
"""

import json
import re
from dataclasses import dataclass

from reference.tool_parsers.blocks import read_blocks
from reference.tool_parsers.hermes import MARKERS
from reference.tool_parsers.parsed import Parsed, Reading, Tools, typed

_PAIR = re.compile(r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glm:
    """Keys and values in tags."""

    kind: str = "glm"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read every block."""
        reading = Reading()

        def read(block: str) -> bool:
            understood = _pairs(block, tools, reading)
            if not understood:
                reading.blame("malformed")
            return understood

        read_blocks(text, MARKERS, reading, read)
        return reading.result()


def _pairs(text: str, tools: Tools, reading: Reading) -> bool:
    """Read a name and its pairs; False when something else stands there."""
    head, tag, rest = text.partition("<arg_key>")
    name, body = head.strip(), tag + rest
    arguments = {}
    at = 0
    for pair in _PAIR.finditer(body):
        if pair.start() != at:
            break
        at = pair.end()
        key = pair[1].strip()
        arguments[key], sure = typed(pair[2], name, key, tools)
        if not sure:
            reading.blame("untyped_argument")
    if body[at:].strip() or re.search(r"[\s<>{}]", name):
        return False
    reading.call(name, json.dumps(arguments, ensure_ascii=False))
    return True


FORMAT = Glm()
