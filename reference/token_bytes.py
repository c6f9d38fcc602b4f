"""Which bytes each token of a ``tokenizer.json`` stands for."""

from collections.abc import Callable, Mapping
from typing import Any

# Bytes that GPT-2's byte-level alphabet writes as themselves (openai/gpt-2, encoder.py, bytes_to_unicode); the others
# are written as U+0100 onwards, in order.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_SPACE_MARK = "\u2581"


def byte_alphabet() -> dict[str, int]:
    """Return byte by character in GPT-2's byte-level alphabet (256 entries)."""
    hidden = [byte for byte in range(256) if byte not in set(_PRINTABLE)]
    return {chr(byte): byte for byte in _PRINTABLE} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


def vocabulary_bytes(document: Mapping[str, Any], vocabulary: Mapping[str, int]) -> dict[int, bytes]:
    """Return the bytes of every token by id.

    Parameters
    ----------
    document : Mapping
        The parsed ``tokenizer.json``.
    vocabulary : Mapping
        All pieces with their ids, added tokens included.
    """
    added = {entry["id"]: str(entry["content"]) for entry in document.get("added_tokens", ())}
    to_bytes = _byte_level() if _is_byte_level(document) else _sentencepiece
    return {
        identifier: added[identifier].encode() if identifier in added else to_bytes(piece)
        for piece, identifier in vocabulary.items()
    }


def _is_byte_level(document: Mapping[str, Any]) -> bool:
    decoder = document.get("decoder") or {}
    return any(part.get("type") == "ByteLevel" for part in (decoder, *decoder.get("decoders", ())))


def _byte_level() -> Callable[[str], bytes]:
    alphabet = byte_alphabet()

    def to_bytes(piece: str) -> bytes:
        if all(character in alphabet for character in piece):
            return bytes(alphabet[character] for character in piece)
        return piece.encode()

    return to_bytes


def _sentencepiece(piece: str) -> bytes:
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return bytes.fromhex(piece[3:5])
    return piece.replace(_SPACE_MARK, " ").encode()
