"""Signatures of packs (Ed25519, RFC 8032): who recorded it, known before anything in the file is read.

The signature is the last 112 bytes of the file, which a zip takes for its comment: a mark, the signer's public key and
the signature over the SHA-256 of all bytes before it.
"""

import hashlib
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from monitor.errors import GoldenError, UsageError

_MARK = b"weighmaster-sig1"
_N_KEY, _N_SIGNATURE = 32, 64
N_TRAILER = len(_MARK) + _N_KEY + _N_SIGNATURE
"""Bytes that a signature takes at the end of the file."""

_ZIP_END = b"PK\x05\x06"
_AT_COMMENT = 20
"""Where the end record of a zip says how long the comment is."""
_MOST_TAIL = 1 << 20


@dataclass(frozen=True, slots=True)
class Signature:
    """Who is said to have signed, as ``ed25519:HEX``, and whether that is so.

    ``signer`` is None where the file was signed and what is left of the signature does not say by whom.
    """

    signer: str | None
    is_valid: bool


def new_key(path: Path) -> str:
    """Write a new private key to `path`, for nobody else to read; return its public key.

    Raises
    ------
    UsageError
        When there is something at `path` already.
    """
    key = Ed25519PrivateKey.generate()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already, and a key is never overwritten; choose another name") from None
    with os.fdopen(file, "wb") as out:
        out.write(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return public_key(key)


def public_key(key: Ed25519PrivateKey) -> str:
    """Return the public key that belongs to `key`, as configurations write it."""
    return _named(key.public_key().public_bytes_raw())


def trusted_key(text: str) -> str:
    """Return the public key that `text` writes, in lower case. Raises UsageError when it is none."""
    if not re.fullmatch(r"ed25519:[0-9a-f]{64}", text.lower()):
        raise UsageError(f"{text!r} is not a public key: ed25519: and 64 hex digits, as `reference pack-key` prints it")
    return text.lower()


def read_key(text: str, source: str) -> Ed25519PrivateKey:
    """Return the private key in the PEM `text`; `source` says where that stands.

    Raises
    ------
    UsageError
        When it is none, or not an Ed25519 key without a password. The message never quotes it.
    """
    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{source}: holds no Ed25519 private key; `weighmaster reference pack-key FILE` makes one")
    return key


def signed(unsigned: bytes, key: Ed25519PrivateKey) -> bytes:
    """Return `unsigned`, a file that leaves room for it, with the trailer behind it."""
    return unsigned + _MARK + key.public_key().public_bytes_raw() + key.sign(_message(unsigned))


def signature_of(data: bytes) -> Signature | None:
    """Return what the end of a file says about its signer; None when it is not signed.

    A file whose zip leaves room for a signature that is not there, or not at the end, was cut or grew: not valid.
    """
    trailer = data[-N_TRAILER:]
    if len(trailer) < N_TRAILER or not trailer.startswith(_MARK):
        return Signature(None, is_valid=False) if _was_signed(data) else None
    raw, signature = trailer[len(_MARK) : -_N_SIGNATURE], trailer[-_N_SIGNATURE:]
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, _message(memoryview(data)[:-N_TRAILER]))
    except InvalidSignature:
        return Signature(_named(raw), is_valid=False)
    return Signature(_named(raw), is_valid=True)


def require(data: bytes, keys: Collection[str], source: str) -> None:
    """Refuse a file that a trusted key has not signed, or whose signature does not fit. No keys: none is needed.

    Raises
    ------
    GoldenError
        With what is wrong and the remedy.
    """
    found = signature_of(data)
    if found is not None and found.signer is None:
        raise GoldenError(f"{source}: signed, but its end was cut off, changed or added to; get it again")
    if found is not None and not found.is_valid:
        raise GoldenError(f"{source}: changed after {_short(found.signer)} signed it; get it again")
    if not keys:
        return
    if found is None:
        raise GoldenError(f"{source}: not signed, and only packs signed by a key in `keys` are trusted")
    if found.signer not in keys:
        raise GoldenError(
            f"{source}: signed by {found.signer}, which is none of the {len(keys)} in `keys`; add it if you trust it"
        )


def _message(data: bytes | memoryview) -> bytes:
    return _MARK + hashlib.sha256(data).digest()


def _named(raw: bytes) -> str:
    return f"ed25519:{raw.hex()}"


def _short(signer: str | None) -> str:
    return f"{str(signer)[:20]}..."


def _was_signed(data: bytes) -> bool:
    """Whether the end record of the zip announces a comment of a signature's length; no other pack has a comment."""
    at = data.rfind(_ZIP_END, max(0, len(data) - _MOST_TAIL))
    room = data[at + _AT_COMMENT : at + _AT_COMMENT + 2]
    return at >= 0 and int.from_bytes(room, "little") == N_TRAILER
