"""DeepSeek: V3 and R1 name the type and fence the arguments as ``json``; V3.1 writes name and arguments bare.

The markers use the characters U+FF5C and U+2581.
"""

import re
from dataclasses import dataclass

from reference.tool_parsers.blocks import read_sections
from reference.tool_parsers.parsed import Parsed, Reading, Tools

SECTION = ("<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581calls\u2581end\uff5c>")
CALL = ("<\uff5ctool\u2581call\u2581begin\uff5c>", "<\uff5ctool\u2581call\u2581end\uff5c>")
SEPARATOR = "<\uff5ctool\u2581sep\uff5c>"
_FENCED = re.compile(r"\s*([^\n]+)\n```json\n(.*?)\n?```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepSeek:
    """Marked calls in a marked section."""

    kind: str = "deepseek"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read every section; calls outside of one are text."""
        del tools
        reading = Reading()
        body = text.removesuffix("<\uff5cend\u2581of\u2581sentence\uff5c>")
        read_sections(body, SECTION, CALL, reading, lambda call: _call(call, reading))
        return reading.result()


def _call(text: str, reading: Reading) -> None:
    head, mark, body = text.partition(SEPARATOR)
    fenced = _FENCED.fullmatch(body)
    if not mark:
        reading.blame("malformed")
        reading.call("", text)
    elif head.strip() == "function" and fenced is not None:
        reading.call(fenced[1].strip(), fenced[2])
    else:
        if "```" in body:
            reading.blame("malformed")
        reading.call(head.strip(), body.strip())


FORMAT = DeepSeek()
