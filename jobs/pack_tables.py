"""The tables of a pack as Parquet, and back."""

import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from monitor.codec import decode, encode
from monitor.results import Fingerprint
from reference.pack import FILES, Pack, PackDeviation, PackPosition, PackPrompt, PackSample, PackTrigger

FOLDER = "golden/"
"""Where the golden folder's files stand in the zip."""

_IDS, _VALUES, _YES_OR_NO = pa.list_(pa.int32()), pa.list_(pa.float32()), pa.list_(pa.bool_())
_SCHEMAS: Mapping[str, Any] = {
    "prompts": pa.schema({"prompt_id": pa.string(), "messages": pa.string(), "tools": pa.string(), "ids": _IDS}),
    "positions": pa.schema({"prompt": pa.int32(), "path": _IDS, "entropy_nats": pa.float32(), "top_ids": _IDS,
                            "top_logprobs": _VALUES}),
    "samples": pa.schema({"prompt": pa.int32(), "ids": _IDS, "finish": pa.string(), "logprob": _VALUES, "rank": _IDS,
                          "entropy_nats": _VALUES}),
    "deviations": pa.schema({"variant": pa.string(), "prompt": pa.int32(), "position": pa.int32(),
                             "deviation": _VALUES}),
    "triggers": pa.schema({"prompt": pa.int32(), "family": pa.string(), "k": pa.int32(), "n": pa.int32(),
                           "called": _YES_OR_NO, "parsed": _YES_OR_NO}),
}  # fmt: skip
"""Columns of each table; a list column holds one list per row."""

_OPTIONAL = frozenset({"triggers"})
"""Tables that a pack has only when there is something in them."""


def members_of(pack: Pack) -> dict[str, bytes]:
    """Return what goes into the zip by name, the manifest apart."""
    tables = {f"{name}.parquet": _parquet(name, rows) for name, rows in _rows(pack).items()}
    return tables | {FOLDER + name: data for name, data in sorted(pack.files.items())}


def counts(pack: Pack) -> dict[str, int]:
    """Return the number of rows of each table."""
    rows = {name: len(getattr(pack, name)) for name in _SCHEMAS}
    return {name: n for name, n in rows.items() if n or name not in _OPTIONAL}


def pack_of(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> Pack:
    """Return the pack in `members`. Raises KeyError, TypeError, ValueError or ArrowException when it is none."""
    tables = {name: _read(members, name) for name in _SCHEMAS}
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
    return Pack(
        fingerprint=decode(Fingerprint, encode(manifest["fingerprint"])), model=manifest.get("model"),
        created_at=datetime.fromisoformat(manifest["created_at"]), top_k=manifest["top_k"],
        about=manifest["about"], template=manifest["template"], prompts=tuple(prompts), positions=tuple(positions),
        samples=tuple(samples), files=_files(members),
        deviations=tuple(
            PackDeviation(**{**row, "deviation": np.array(row["deviation"])}) for row in tables["deviations"]
        ),
        triggers=tuple(
            PackTrigger(prompt=row["prompt"], family=row["family"], called=tuple(row["called"]),
                        parsed=tuple(row["parsed"]))
            for row in tables["triggers"]
        ),
    )  # fmt: skip


def _rows(pack: Pack) -> dict[str, list[dict[str, Any]]]:
    prompts = [
        {"prompt_id": one.prompt_id, "messages": encode(one.messages).decode(), "tools": encode(one.tools).decode(),
         "ids": one.ids}
        for one in pack.prompts
    ]  # fmt: skip
    others = {
        name: [{column: getattr(row, column) for column in _SCHEMAS[name].names} for row in getattr(pack, name)]
        for name in ("positions", "samples", "deviations", "triggers")
    }
    return {name: rows for name, rows in {"prompts": prompts, **others}.items() if rows or name not in _OPTIONAL}


def _parquet(name: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    schema = _SCHEMAS[name]
    columns = {column: pa.array([row[column] for row in rows], schema.field(column).type) for column in schema.names}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def _read(members: Mapping[str, bytes], name: str) -> list[dict[str, Any]]:
    member = f"{name}.parquet"
    if name in _OPTIONAL and member not in members:
        return []
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(members[member])).to_pylist()
    return rows


def _files(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The golden folder's files. They are written to a folder later, so no other name is taken."""
    files = {name.removeprefix(FOLDER): data for name, data in members.items() if name.startswith(FOLDER)}
    strange = sorted(files.keys() - set(FILES))
    if strange:
        raise ValueError(f"holds {strange[0]!r}, which is no file of a golden folder")
    return files
