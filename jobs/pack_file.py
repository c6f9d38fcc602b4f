"""Packs as files: Parquet tables, the golden tokenizer's files and a manifest with all hashes, in one zip.

A file is read once, as a whole. Its hash and signature are checked on those bytes, before anything in them is parsed:
`trust` first, then `pack_in`, `manifest_of` and `engine_of`, which take bytes that are trusted already.
"""

import hashlib
import io
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from jobs.pack_signature import N_TRAILER, require, signature_of, signed
from jobs.pack_tables import counts, members_of, pack_of
from monitor.codec import encode
from monitor.errors import GoldenError
from monitor.results import Fingerprint
from reference.engines.marks import declared
from reference.engines.pack import PackEngine
from reference.pack import FORMAT, VERSION, Pack
from reference.tokenizer import GoldenTokenizer

MANIFEST = "manifest.json"
_MOST_BYTES = 16 << 30
_COMPULSORY = frozenset({"about", "created_at", "fingerprint", "members", "n", "template", "top_k"})
_MOST_MANIFEST_BYTES = 16 << 20
_DAMAGED = (zipfile.BadZipFile, zlib.error, LookupError, ValueError, TypeError, AttributeError, RuntimeError, EOFError,
            pa.ArrowException)  # fmt: skip


def write_pack(pack: Pack, path: Path, *, key: Ed25519PrivateKey | None = None) -> str:
    """Write `pack` to `path`, which appears only when it is whole; return the SHA-256 of the file in hex.

    The same pack gives the same bytes: members are in a fixed order and carry no time. With `key` it is signed.
    """
    members = members_of(pack)
    manifest = {
        "format": FORMAT, "version": VERSION, "created_at": pack.created_at, "fingerprint": pack.fingerprint,
        "model": pack.model, "top_k": pack.top_k, "about": pack.about, "template": pack.template,
        "n": counts(pack), "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }  # fmt: skip
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST: encode(manifest), **members}.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        archive.comment = b"" if key is None else bytes(N_TRAILER)  # the trailer takes the place of the comment
    whole = sink.getvalue() if key is None else signed(sink.getvalue()[:-N_TRAILER], key)
    fresh = path.with_name(f".{path.name}.part")
    try:
        fresh.write_bytes(whole)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return hashlib.sha256(whole).hexdigest()


def read_file(path: Path) -> bytes:
    """Return the bytes of the pack at `path`. Raises GoldenError when there is none."""
    try:
        return path.read_bytes()
    except OSError as error:
        what = "not found" if isinstance(error, FileNotFoundError) else error.strerror
        raise GoldenError(f"{path}: {what}; give the path of a pack (`weighmaster reference pack -o FILE`)") from error


def trust(data: bytes, source: str, *, sha256: str | None, keys: Collection[str]) -> None:
    """Refuse `data` when its hash is not `sha256`, or its signature is broken or of none of `keys`.

    Raises
    ------
    GoldenError
        With what is wrong and the remedy.
    """
    if sha256 is not None and (found := hashlib.sha256(data).hexdigest()) != sha256.lower():
        raise GoldenError(f"{source}: sha256 is {found}, pinned is {sha256}; get the pack again, or pin the new one")
    require(data, keys, source)


def pack_in(data: bytes, source: str) -> Pack:
    """Return the pack in `data`, which must be trusted already, after checking all hashes in it.

    Raises
    ------
    GoldenError
        When it is damaged or of another version; `source` is its name in messages.
    """
    try:
        return pack_of(*_members(data))
    except _DAMAGED as error:
        raise GoldenError(f"{source}: damaged, or no pack: {_why(error)}; get it again") from error


def engine_of(data: bytes, source: str, *, against: Path | None = None) -> PackEngine:
    """Return the engine of the pack in `data`, trusted already, after comparing its tokenizer with its fingerprint.

    `against` is a golden folder whose weights, tokenizer and template must be those that were recorded.

    Raises
    ------
    GoldenError
        As `pack_in`, and when fingerprints differ.
    """
    pack = pack_in(data, source)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in pack.files.items():
            (Path(folder) / name).write_bytes(content)
        tokenizer = GoldenTokenizer.load(Path(folder), now=lambda: pack.created_at, options=pack.template)
        _compare(source, pack.fingerprint, _declared(Path(folder)), ("tokenizer", "template"))
    if against is not None:
        _compare(source, pack.fingerprint, _declared(against), ("weights", "tokenizer", "template"))
    return PackEngine(pack, tokenizer)


def manifest_of(data: bytes, source: str) -> dict[str, Any]:
    """Return the manifest of `data`, which must be trusted already. Raises GoldenError when there is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _manifest(archive)
    except _DAMAGED as error:
        raise GoldenError(f"{source}: damaged, or no pack: {_why(error)}; get it again") from error


def summary(
    path: Path, *, keys: Collection[str] = (), check: Callable[[bytes], object] = lambda _data: None
) -> dict[str, Any]:
    """Return what the manifest says, with the hash of the file and ``signature``: signer and validity, or None.

    Where the signature does not fit, only that and the file are told: nothing in it is read or checked.

    Parameters
    ----------
    keys : Collection
        One of which must have signed it, if there are any.
    check : Callable
        Called with the same bytes once they are trusted, before the manifest is read.

    Raises
    ------
    GoldenError
        As `read_file`, `trust`, `manifest_of` and `check`.
    """
    data = read_file(path)
    found = signature_of(data)
    signature = None if found is None else {"signer": found.signer, "valid": found.is_valid}
    file = {"file": str(path), "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "signature": signature}
    if found is not None and not found.is_valid:
        return file
    trust(data, str(path), sha256=None, keys=keys)
    check(data)
    return {**file, **manifest_of(data, str(path))}


def _why(error: Exception) -> str:
    """What is wrong with a pack, in words for people: of lookups and types Python names only its own parts."""
    speaks = isinstance(error, (zipfile.BadZipFile, zlib.error, ValueError, pa.ArrowException))
    return str(error) if speaks and str(error) else "its content does not fit the format"


def _declared(folder: Path) -> Fingerprint:
    return declared(folder, engine="pack", url="", model="", versions={})


def _compare(source: str, recorded: Fingerprint, found: Fingerprint, parts: Sequence[str]) -> None:
    for part in parts:
        one, other = (getattr(mark, f"{part}_sha256") for mark in (recorded, found))
        if one != other:
            raise GoldenError(
                f"{source}: recorded with another {part} (sha256 {one[:12]}..., here {other[:12]}...); record it again"
            )


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    if sum(info.file_size for info in archive.infolist()) > _MOST_BYTES:
        raise ValueError(f"unpacks to more than {_MOST_BYTES >> 30} GiB")
    if archive.getinfo(MANIFEST).file_size > _MOST_MANIFEST_BYTES:
        raise ValueError(f"its manifest unpacks to more than {_MOST_MANIFEST_BYTES >> 20} MiB")
    manifest: dict[str, Any] = orjson.loads(archive.read(MANIFEST))
    if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
        told = f"{manifest.get('format')} {manifest.get('version')}"
        raise ValueError(f"format {told}, this version reads {FORMAT} {VERSION}")
    missing = sorted(_COMPULSORY - manifest.keys())
    if missing:
        raise ValueError(f"its manifest has no {missing[0]!r}")
    return manifest


def _members(data: bytes) -> tuple[dict[str, Any], Mapping[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        manifest = _manifest(archive)
        members = {name: archive.read(name) for name in manifest["members"]}
    for name, content in members.items():
        if hashlib.sha256(content).hexdigest() != manifest["members"][name]:
            raise ValueError(f"{name} is not what the manifest says")
    return manifest, members
