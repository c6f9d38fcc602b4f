"""Tensors of a Hugging Face folder as float32 arrays, one at a time, without torch (numpy has no bfloat16)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from monitor.errors import GoldenError
from reference.folder import REBUILD, weight_files
from reference.variants.variant import Weights

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_HEADER_BYTES = 8


def shards(folder: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the weight files of `folder`, each with its table: tensor name to type, shape and place.

    Raises
    ------
    GoldenError
        When there is none, or one is damaged.
    """
    for path in weight_files(folder):
        yield path, _table(path)


def tensors(folder: Path) -> Iterator[tuple[str, Weights]]:
    """Yield every tensor of `folder` with its name. Raises GoldenError as `shards` does."""
    for path, table in shards(folder):
        for name in table:
            yield name, tensor(path, table, name)


def read_tensor(folder: Path, name: str) -> Weights:
    """Return one tensor of `folder`. Raises GoldenError when there is none of this name."""
    for path, table in shards(folder):
        if name in table:
            return tensor(path, table, name)
    raise GoldenError(f"{folder}: has no tensor {name}")


def tensor(path: Path, table: Mapping[str, Any], name: str) -> Weights:
    """Return the tensor `name` out of the file `path` whose table is `table`.

    Raises GoldenError when its type is not a floating point of 16 bits or more (a quantised checkpoint).
    """
    entry = table[name]
    kind = _TYPES.get(entry["dtype"])
    if kind is None:
        raise GoldenError(f"{path}: {name} is {entry['dtype']}; only {', '.join(_TYPES)} can be read")
    start, end = entry["data_offsets"]
    with path.open("rb") as file:
        base = _HEADER_BYTES + int.from_bytes(file.read(_HEADER_BYTES), "little")
        file.seek(base + start)
        raw = file.read(end - start)
    try:
        values = np.frombuffer(raw, dtype=kind).reshape(entry["shape"])
    except ValueError as error:
        raise _damaged(path, f"{name}: {error}") from None
    if entry["dtype"] == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32)


def _table(path: Path) -> dict[str, Any]:
    """Read the header of a safetensors file: its length in 8 bytes, then JSON."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_HEADER_BYTES), "little")
        if not 0 < length <= size - _HEADER_BYTES:
            raise _damaged(path, "its header is no safetensors header")
        try:
            table = json.loads(file.read(length))
            table.pop("__metadata__", None)
            end = max((entry["data_offsets"][1] for entry in table.values()), default=0)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _damaged(path, "its header is no safetensors header") from None
    if end != size - _HEADER_BYTES - length:
        raise _damaged(path, f"{size} bytes long, {_HEADER_BYTES + length + end} expected")
    return dict(table)


def _damaged(path: Path, why: str) -> GoldenError:
    return GoldenError(f"{path}: cannot be read: {why} (run `{REBUILD}`)")
