"""How much of an answer is read. No real answer comes near these; a hostile one ends as ``client_limit``."""

from collections.abc import Sequence

from monitor.types import Read

MAX_DECODED_BYTES = 64 * 2**20
"""Bytes of a body after undoing its compression."""

MAX_JSON_BYTES = 16 * 2**20
"""Bytes of one JSON text: parsed, it takes up to forty times its size."""

MAX_LINES = 4_000_000
"""Lines of a body, however short."""

MAX_CHOICES = 128
MAX_CALLS = 1024
MAX_LOGPROBS = 2**21
"""Choices of an answer, calls of a choice, and logprobs of a choice, alternatives counted; more are left out."""

MAX_TOKENS = 2**31
"""No answer has more tokens; a higher count is a mistake."""

MAX_NAMES = 64
"""Different models, and providers, that one answer may name."""

NAME_CHARS = 256
"""Kept of a name, an id or a finish reason."""


class TooLargeError(Exception):
    """An answer beyond the bounds; the message says which."""


def check_lines(reads: Sequence[Read]) -> None:
    """Raise `TooLargeError` for a body with more lines than any answer has."""
    if sum([len(read.data) for read in reads]) <= MAX_LINES:
        return  # nearly all: no more lines than bytes
    if sum(read.data.count(b"\n") + read.data.count(b"\r") for read in reads) > MAX_LINES:
        raise TooLargeError("the body has too many lines")


def check_json(texts: Sequence[bytes]) -> None:
    """Raise `TooLargeError` if one of the JSON texts is too large to be parsed."""
    if max(map(len, texts), default=0) > MAX_JSON_BYTES:
        raise TooLargeError("one JSON text of the body is too large")
