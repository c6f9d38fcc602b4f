"""Hermes 2 and 3, Qwen 2.5 and 3: one JSON object with ``name`` and ``arguments`` in each ``<tool_call>`` block."""

from dataclasses import dataclass

from reference.tool_parsers.blocks import cut
from reference.tool_parsers.parsed import Parsed, Reading, Tools

BEGIN, END = "<tool_call>", "</tool_call>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hermes:
    """JSON objects in XML-like blocks."""

    kind: str = "hermes"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read every block."""
        del tools
        reading = Reading()
        for piece in cut(text, BEGIN, END):
            if not piece.inside:
                reading.say(piece.text)
                continue
            if not piece.closed:
                reading.blame("unclosed")
            if not reading.json_call(piece.text):
                reading.say(BEGIN + piece.text + (END if piece.closed else ""))
        return reading.result()


FORMAT = Hermes()
