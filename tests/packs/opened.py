"""Packs read in the steps that the program takes: bytes, trust, content."""

from collections.abc import Collection
from pathlib import Path

from jobs.pack_file import engine_of, pack_in, read_file, trust
from reference.engines.pack import PackEngine
from reference.pack import Pack


def read_pack(path: Path, *, sha256: str | None = None, keys: Collection[str] = ()) -> Pack:
    data = read_file(path)
    trust(data, str(path), sha256=sha256, keys=keys)
    return pack_in(data, str(path))


def open_pack(
    path: Path, *, sha256: str | None = None, keys: Collection[str] = (), against: Path | None = None
) -> PackEngine:
    data = read_file(path)
    trust(data, str(path), sha256=sha256, keys=keys)
    return engine_of(data, str(path), against=against)
