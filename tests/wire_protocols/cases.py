"""The golden captures of the protocols beyond chat: each file with the record it must decode to."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from monitor.types import Capture
from monitor.wire.files import load

FOLDER = Path(__file__).parent / "golden"


class Case(NamedTuple):
    """A capture, what its record must hold, and flags that must not be raised."""

    capture: Capture
    want: dict[str, Any]
    not_flags: list[str]


def read_case(path: Path) -> Case:
    """The case of a capture file; the folder's name is the protocol, ``sent`` the request that it answers."""
    doc = json.loads(path.with_suffix(".expected.json").read_text("utf-8"))
    sent = orjson.dumps(doc["sent"]) if "sent" in doc else b""
    capture = replace(load(path.read_bytes(), path.suffix[1:]), protocol=path.parent.name, sent=sent)
    return Case(capture, doc["record"], doc.get("not_flags", []))


def cases() -> list[Any]:
    """All cases as pytest parameters."""
    paths = [path for path in sorted(FOLDER.rglob("*.*")) if path.suffix != ".json"]
    return [pytest.param(read_case(path), id=f"{path.parent.name}-{path.stem}") for path in paths]
