"""The bytes behind a finding: what of the body as it came shows it, for people and bug reports."""

import re

from monitor.tools.layers import Layer, Symptom
from monitor.types import Capture

MAX_BYTES = 600

_WORDS: dict[Layer, bytes] = {
    "protocol": rb'"tool_calls"|"finish_reason":\s*"', "schema": rb'"arguments"',
    "decision": rb'"tool_calls"|"content"',
    "parser": rb"<\|?[a-z_/]*tool|\[TOOL_CALLS\]|<function|</think>|<\|", "content": rb'"finish_reason":\s*"',
    "template": rb'"prompt_tokens"', "suite": rb'"tool_calls"',
}  # fmt: skip


def bytes_of(capture: Capture, symptom: Symptom) -> bytes:
    """Return the lines of the body that show `symptom`, at most `MAX_BYTES`; for transport and framing, its end.

    The body is taken as it was read: what a compressed one says cannot be shown.
    """
    body = capture.body
    words = _WORDS.get(symptom.layer)
    if words is None:
        return body[-MAX_BYTES:]
    lines = [line for line in body.splitlines() if re.search(words, line)]
    shown = b"\n".join(_around(line, words) for line in lines) if lines else body[-MAX_BYTES:]
    return shown[:MAX_BYTES]


def _around(line: bytes, words: bytes) -> bytes:
    """A line that is too long, from shortly before the words in it."""
    found = re.search(words, line)
    if len(line) <= MAX_BYTES or found is None:
        return line
    begin = max(0, found.start() - MAX_BYTES // 4)
    return line[begin : begin + MAX_BYTES]
