"""Hermes 2 and 3, Qwen 2.5 and 3: one JSON object with ``name`` and ``arguments`` in each ``<tool_call>`` block."""

from dataclasses import dataclass

from reference.tool_parsers.blocks import read_blocks
from reference.tool_parsers.parsed import Parsed, Reading, Tools

MARKERS = ("<tool_call>", "</tool_call>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hermes:
    """JSON objects in XML-like blocks."""

    kind: str = "hermes"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read every block."""
        del tools
        reading = Reading()
        read_blocks(text, MARKERS, reading, reading.json_call)
        return reading.result()


FORMAT = Hermes()
