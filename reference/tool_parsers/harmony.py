"""gpt-oss (harmony): messages with channels; a call is a message ``to=functions.NAME`` that ends in ``<|call|>``.

Content is what stands in the channel ``final``, and commentary to nobody (a preamble); ``analysis`` is left out.
"""

import re
from dataclasses import dataclass

from reference.tool_parsers.parsed import Parsed, Reading, Tools

_MESSAGE = re.compile(
    r"(?:<\|start\|>)?(?P<head>(?:(?!<\|message\|>|<\|start\|>).)*?)<\|message\|>(?P<body>.*?)"
    r"(?P<end><\|end\|>|<\|call\|>|<\|return\|>|(?=<\|start\|>)|\Z)",
    re.DOTALL,
)
_RECIPIENT = re.compile(r"to=([^\s<]+)")
_CHANNEL = re.compile(r"<\|channel\|>\s*([a-z]+)")
_PREFIX = "functions."

CALL_END = "<|call|>"
"""Ends a call, and the answer with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmony:
    """Messages with a recipient."""

    kind: str = "harmony"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read every message; text without any is content."""
        del tools
        reading = Reading()
        at = 0
        for message in _MESSAGE.finditer(text):
            if text[at : message.start()].strip():
                reading.blame("malformed")
                reading.say(text[at : message.start()])
            at = message.end()
            _message(message["head"], message["body"], message["end"], reading)
        if text[at:].strip():
            if at:
                reading.blame("malformed")
            reading.say(text[at:])
        return reading.result()


def _message(head: str, body: str, end: str, reading: Reading) -> None:
    recipient, channel = _RECIPIENT.search(head), _CHANNEL.search(head)
    if recipient is not None:
        if end != CALL_END:
            reading.blame("unclosed")
        if not recipient[1].startswith(_PREFIX):
            reading.blame("malformed")
        reading.call(recipient[1].removeprefix(_PREFIX), body.strip())
    elif channel is None:
        reading.blame("malformed")
        reading.say(body)
    elif channel[1] != "analysis":
        reading.say(body)


FORMAT = Harmony()
