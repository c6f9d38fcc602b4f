"""Keeps the key out of captures: some endpoints repeat it in their error bodies (case OP-09)."""

from collections.abc import Sequence

from monitor.types import Read

MASK = b"*"
MIN_CHARS = 8
"""A shorter "key" is a word like any other (local servers take anything), and masking it would damage the answer."""


def redact(reads: Sequence[Read], secret: str | None) -> tuple[Read, ...]:
    """Mask every occurrence of `secret` by asterisks of the same length, also where it spans several reads.

    Lengths and stamps stay as they were, so framing and timing are not touched.
    """
    body = b"".join(read.data for read in reads)
    if secret is None or len(secret) < MIN_CHARS or secret.encode() not in body:
        return tuple(reads)
    masked = body.replace(secret.encode(), MASK * len(secret.encode()))
    cleaned, start = [], 0
    for read in reads:
        cleaned.append(Read(read.at_ns, masked[start : start + len(read.data)]))
        start += len(read.data)
    return tuple(cleaned)
