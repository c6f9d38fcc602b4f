"""Qwen: 2.5 and 3 write JSON as Hermes does; Qwen3-Coder writes functions and parameters as XML-like tags.

``<tool_call><function=NAME><parameter=KEY>VALUE</parameter>...</function></tool_call>``; one line break after and
before a value belongs to the tags. Values stand bare: the schema says what is text.
"""

import json
import re
from dataclasses import dataclass

from reference.tool_parsers.blocks import read_blocks
from reference.tool_parsers.hermes import MARKERS
from reference.tool_parsers.parsed import Parsed, Reading, Tools, typed

_FUNCTION = re.compile(r"\s*<function=([^>\n]*)>(.*?)</function>\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=([^>\n]*)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen:
    """JSON objects or tags in XML-like blocks."""

    kind: str = "qwen"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read every block in the way that it is written."""
        reading = Reading()

        def read(block: str) -> bool:
            tagged = block.lstrip().startswith("<function=")
            return _tags(block, tools, reading) if tagged else reading.json_call(block)

        read_blocks(text, MARKERS, reading, read)
        return reading.result()


def _tags(text: str, tools: Tools, reading: Reading) -> bool:
    function = _FUNCTION.fullmatch(text)
    if function is None:
        reading.blame("malformed")
        return False
    name, body = function[1].strip(), function[2]
    arguments = {}
    at = 0
    for parameter in _PARAMETER.finditer(body):
        if parameter.start() != at:
            break
        at = parameter.end()
        key = parameter[1].strip()
        arguments[key], sure = typed(parameter[2], name, key, tools)
        if not sure:
            reading.blame("untyped_argument")
    if body[at:].strip():
        reading.blame("malformed")
        return False
    reading.call(name, json.dumps(arguments, ensure_ascii=False))
    return True


FORMAT = Qwen()
