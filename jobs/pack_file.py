"""Packs as files: Parquet tables, the golden tokenizer's files and a manifest with all hashes, in one zip."""

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from monitor.codec import decode, encode
from monitor.errors import GoldenError
from monitor.results import Fingerprint
from reference.engines.marks import declared
from reference.engines.pack import PackEngine
from reference.fingerprint import file_sha256
from reference.pack import FORMAT, VERSION, Pack, PackDeviation, PackPosition, PackPrompt, PackSample
from reference.tokenizer import GoldenTokenizer

MANIFEST = "manifest.json"
_FOLDER = "golden/"
_IDS, _VALUES = pa.list_(pa.int32()), pa.list_(pa.float32())
_SCHEMAS: Mapping[str, Any] = {
    "prompts": pa.schema({"prompt_id": pa.string(), "messages": pa.string(), "tools": pa.string(), "ids": _IDS}),
    "positions": pa.schema({"prompt": pa.int32(), "path": _IDS, "entropy_nats": pa.float32(), "top_ids": _IDS,
                            "top_logprobs": _VALUES}),
    "samples": pa.schema({"prompt": pa.int32(), "ids": _IDS, "finish": pa.string(), "logprob": _VALUES, "rank": _IDS,
                          "entropy_nats": _VALUES}),
    "deviations": pa.schema({"variant": pa.string(), "prompt": pa.int32(), "position": pa.int32(),
                             "deviation": _VALUES}),
}  # fmt: skip
"""Columns of each table; a list column holds one list per row."""


def write_pack(pack: Pack, path: Path) -> str:
    """Write `pack` to `path`, which appears only when it is whole; return the SHA-256 of the file in hex.

    The same pack gives the same bytes: members are in a fixed order and carry no time.
    """
    members = {f"{name}.parquet": _parquet(name, rows) for name, rows in _rows(pack).items()}
    members |= {_FOLDER + name: data for name, data in sorted(pack.files.items())}
    manifest = {
        "format": FORMAT, "version": VERSION, "created_at": pack.created_at, "fingerprint": pack.fingerprint,
        "top_k": pack.top_k, "about": pack.about, "template": pack.template,
        "n": {name: len(rows) for name, rows in _rows(pack).items()},
        "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }  # fmt: skip
    fresh = path.with_name(f".{path.name}.part")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST: encode(manifest), **members}.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    fresh.replace(path)
    return file_sha256(path)


def read_pack(path: Path, *, sha256: str | None = None) -> Pack:
    """Read the pack in `path` and check all of its hashes.

    Parameters
    ----------
    path : Path
        The file.
    sha256 : str, optional
        The hash that the whole file must have.

    Raises
    ------
    GoldenError
        When the file is missing, damaged, changed, of another version, or not the one that is pinned.
    """
    if not path.is_file():
        raise GoldenError(f"{path}: not found; give the path of a pack (`weighmaster reference pack -o FILE`)")
    if sha256 is not None and (found := file_sha256(path)) != sha256.lower():
        raise GoldenError(f"{path}: sha256 is {found}, pinned is {sha256}; get the pack again, or pin the new one")
    try:
        manifest, members = _members(path)
        return _pack(manifest, members)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, pa.ArrowException) as error:
        raise GoldenError(f"{path}: damaged, or no pack: {error}; get it again") from error


def open_pack(path: Path, *, sha256: str | None = None, against: Path | None = None) -> PackEngine:
    """Return the engine of the pack in `path`, after its tokenizer was compared with its fingerprint.

    `against` is a golden folder whose weights, tokenizer and template must be those that were recorded.

    Raises
    ------
    GoldenError
        As `read_pack`, and when fingerprints differ.
    """
    pack = read_pack(path, sha256=sha256)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in pack.files.items():
            (Path(folder) / name).write_bytes(data)
        tokenizer = GoldenTokenizer.load(Path(folder), now=lambda: pack.created_at, options=pack.template)
        _compare(path, pack.fingerprint, _declared(Path(folder)), ("tokenizer", "template"))
    if against is not None:
        _compare(path, pack.fingerprint, _declared(against), ("weights", "tokenizer", "template"))
    return PackEngine(pack, tokenizer)


def summary(path: Path) -> dict[str, Any]:
    """Return what the manifest says, with the hash of the file. Raises GoldenError like `read_pack`."""
    read_pack(path)
    with zipfile.ZipFile(path) as archive:
        manifest: dict[str, Any] = orjson.loads(archive.read(MANIFEST))
    return {"file": str(path), "sha256": file_sha256(path), "bytes": path.stat().st_size, **manifest}


def _declared(folder: Path) -> Fingerprint:
    return declared(folder, engine="pack", url="", model="", versions={})


def _compare(path: Path, recorded: Fingerprint, found: Fingerprint, parts: Sequence[str]) -> None:
    for part in parts:
        one, other = (getattr(mark, f"{part}_sha256") for mark in (recorded, found))
        if one != other:
            raise GoldenError(
                f"{path}: recorded with another {part} (sha256 {one[:12]}..., here {other[:12]}...); record it again"
            )


def _rows(pack: Pack) -> dict[str, list[dict[str, Any]]]:
    return {
        "prompts": [
            {"prompt_id": one.prompt_id, "messages": encode(one.messages).decode(), "tools": encode(one.tools).decode(),
             "ids": one.ids}
            for one in pack.prompts
        ],
        **{
            name: [{column: getattr(row, column) for column in _SCHEMAS[name].names} for row in getattr(pack, name)]
            for name in ("positions", "samples", "deviations")
        },
    }


def _parquet(name: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    schema = _SCHEMAS[name]
    columns = {column: pa.array([row[column] for row in rows], schema.field(column).type) for column in schema.names}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def _members(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        manifest: dict[str, Any] = orjson.loads(archive.read(MANIFEST))
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            told = f"{manifest.get('format')} {manifest.get('version')}"
            raise ValueError(f"format {told}, this version reads {FORMAT} {VERSION}")
        members = {name: archive.read(name) for name in manifest["members"]}
    for name, data in members.items():
        if hashlib.sha256(data).hexdigest() != manifest["members"][name]:
            raise ValueError(f"{name} is not what the manifest says")
    return manifest, members


def _pack(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> Pack:
    tables = {name: pq.read_table(io.BytesIO(members[f"{name}.parquet"])).to_pylist() for name in _SCHEMAS}
    prompts = [
        PackPrompt(prompt_id=row["prompt_id"], messages=tuple(orjson.loads(row["messages"])),
                   tools=tuple(orjson.loads(row["tools"])), ids=tuple(row["ids"]))
        for row in tables["prompts"]
    ]  # fmt: skip
    positions = [
        PackPosition(prompt=row["prompt"], path=tuple(row["path"]), entropy_nats=row["entropy_nats"],
                     top_ids=np.array(row["top_ids"]), top_logprobs=np.array(row["top_logprobs"]))
        for row in tables["positions"]
    ]  # fmt: skip
    samples = [
        PackSample(prompt=row["prompt"], ids=tuple(row["ids"]), finish=row["finish"], logprob=np.array(row["logprob"]),
                   rank=np.array(row["rank"]), entropy_nats=np.array(row["entropy_nats"]))
        for row in tables["samples"]
    ]  # fmt: skip
    deviations = [
        PackDeviation(**{**row, "deviation": np.array(row["deviation"])}) for row in tables["deviations"]
    ]  # fmt: skip
    return Pack(
        fingerprint=decode(Fingerprint, encode(manifest["fingerprint"])),
        created_at=datetime.fromisoformat(manifest["created_at"]), top_k=manifest["top_k"],
        about=manifest["about"], template=manifest["template"], prompts=tuple(prompts), positions=tuple(positions),
        samples=tuple(samples), deviations=tuple(deviations),
        files={name.removeprefix(_FOLDER): data for name, data in members.items() if name.startswith(_FOLDER)},
    )  # fmt: skip
