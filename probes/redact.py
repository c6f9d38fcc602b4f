"""Keeps the key out of captures: some endpoints repeat it in headers or error bodies (case OP-09)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from monitor.codec import encode
from monitor.types import Capture, Exchange, Read
from monitor.wire.bounds import TooLargeError
from monitor.wire.encoding import UndecodableError, content_encoding, decoded, encoded, is_plain

MASK = b"*"
WORD = "[key]"
MIN_CHARS = 8
"""A shorter "key" is a word like any other (local servers take anything), and masking it would damage the answer."""

_DECODED_BYTES = 4 * 1024
"""Longer answers are not decoded to be looked at again, unless they are errors: that would hold up the loop. These take
a tenth of a millisecond."""

_ESCAPED = re.compile(rb"\\+(?:u00|x)([2-7][0-9a-fA-F])|%([2-7][0-9a-fA-F])|&#[xX]0*([2-7][0-9a-fA-F]);|&#0*(\d{2,3});")
_MARKS = ((b"\\", b"\\u00"), (b"\\", b"\\x"), (b"%", b"%"), (b"&", b"&#"))
"""How escapes begin, each behind its first byte: one byte is found twenty times as fast as several."""


class Redactor:
    """Masks the key, and what else was sent to be let in, wherever a capture may hold it.

    Any character may be escaped, as in JSON (also JSON within JSON), URLs, HTML and Python. None is no secret.
    """

    def __init__(self, *secrets: str | None) -> None:
        keys = [key for secret in secrets if len(key := (secret or "").strip()) >= MIN_CHARS]
        self._keys = [key.encode() for key in keys]
        spelled = "|".join("".join(map(_spellings, key)) for key in keys)
        self._text, self._bytes = re.compile(spelled), re.compile(spelled.encode())

    def capture(self, capture: Capture, decode: Callable[[Capture], Exchange]) -> Capture:
        """Return `capture` without the key, in headers and body, packed or not.

        A packed body that holds it is masked unpacked and packed again, read by read; one that cannot be unpacked
        becomes asterisks, since nobody can tell what it holds. Lengths and stamps of other bodies stay as they were.
        Whatever key `decode` would still put together from an error or a short answer costs that body likewise.
        """
        if not self._keys:
            return capture
        capture = replace(
            capture,
            headers=self._headers(capture.headers),
            reads=self._body(capture),
        )
        if not capture.reads or not self._is_short(capture) or not self._holds(encode(decode(capture))):
            return capture
        return replace(capture, reads=_blank(capture.reads))

    def text(self, text: str) -> str:
        """Return `text` with the word ``[key]`` in place of the key."""
        return self._text.sub(WORD, text) if self._holds(text.encode("utf-8", "replace")) else text

    def reads(self, reads: Sequence[Read]) -> tuple[Read, ...]:
        """Mask every occurrence by asterisks of the same length, also where it spans several reads."""
        body = b"".join([read.data for read in reads])
        if not self._holds(body):
            return tuple(reads)
        masked = self._bytes.sub(lambda found: MASK * len(found[0]), body)
        cleaned, start = [], 0
        for read in reads:
            cleaned.append(Read(read.at_ns, masked[start : start + len(read.data)]))
            start += len(read.data)
        return tuple(cleaned)

    def _headers(self, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """All of them are searched at once; a secret holds no line end."""
        if not self._holds("\n".join([part for header in headers for part in header]).encode("utf-8", "replace")):
            return headers
        return tuple((self.text(name), self.text(value)) for name, value in headers)

    def _body(self, capture: Capture) -> tuple[Read, ...]:
        packing = content_encoding(capture.headers)
        if is_plain(packing):
            return self.reads(capture.reads)
        try:
            plain = decoded(capture.reads, packing)
        except (UndecodableError, TooLargeError):
            return _blank(capture.reads)
        masked = self.reads(plain)
        return self.reads(capture.reads) if masked == plain else encoded(masked, packing)

    def _is_short(self, capture: Capture) -> bool:
        if (capture.status or 0) >= 300:
            return True
        left = _DECODED_BYTES  # a long answer is known to be one before all of its reads were looked at
        return all((left := left - len(read.data)) >= 0 for read in capture.reads)

    def _holds(self, data: bytes) -> bool:
        """Whether a secret is in `data`, told without a search that tries every spelling at every byte."""
        if self._finds(data):
            return True
        if b"\\" in data and self._finds(data.replace(b"\\", b"")):
            return True
        marked = bool(self._keys) and any(first in data and mark in data for first, mark in _MARKS)
        return marked and self._finds(_ESCAPED.sub(_plain, data).replace(b"\\", b""))

    def _finds(self, data: bytes) -> bool:
        return any(key in data for key in self._keys)


def _blank(reads: Sequence[Read]) -> tuple[Read, ...]:
    return tuple(Read(read.at_ns, MASK * len(read.data)) for read in reads)


def _plain(found: re.Match[bytes]) -> bytes:
    *hexadecimal, decimal = found.groups()
    code = int(decimal) if decimal is not None else int(next(digits for digits in hexadecimal if digits), 16)
    return bytes((code,)) if code < 128 else found[0]


def _spellings(char: str) -> str:
    """A pattern for `char`, escaped any number of times."""
    code = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(char):02x}")
    return rf"\\*(?:{re.escape(char)}|(?<=\\)u00{code}|(?<=\\)x{code}|%{code}|&#[xX]0*{code};|&#0*{ord(char)};)"
