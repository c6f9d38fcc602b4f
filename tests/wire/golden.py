"""The fault corpus on disk: each file with the record it must decode to."""

import json
import pathlib
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from monitor.types import Capture, Exchange, Read
from monitor.wire.record import record

FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "wire"


class Case(NamedTuple):
    """One capture file and what its record must hold; ``not_flags`` must not be raised."""

    name: str
    format: str
    data: bytes
    want: dict[str, Any]
    not_flags: list[str]


def cases() -> list[Any]:
    """All cases as pytest parameters."""
    found = []
    for path in sorted(FOLDER.iterdir()):
        if path.name.endswith(".expected.json"):
            continue
        doc = json.loads((FOLDER / f"{path.stem}.expected.json").read_text("utf-8"))
        case = Case(path.stem, path.suffix[1:], path.read_bytes(), doc["record"], doc.get("not_flags", []))
        found.append(pytest.param(case, id=path.name))
    return found


def long_lines() -> list[Any]:
    """FR-10: lines above every limit that line readers have, as pytest parameters. Made here, for their size."""
    top = [{"token": f" w{k:02d}", "logprob": -0.5 * k - 0.1, "bytes": list(b" w%02d" % k)} for k in range(20)]
    entry = {"token": " w00", "logprob": -0.1, "bytes": list(b" w00"), "top_logprobs": top}
    choice = {"index": 0, "finish_reason": "length", "logprobs": {"content": [entry] * 400}}
    text = " w00" * 400
    record = {"content": text, "lp_count": 400, "outcome": "ok_length"}
    streamed = _event(choice | {"delta": {"content": text}}) + b"data: [DONE]\n\n"
    whole = json.dumps({"choices": [choice | {"message": {"content": text}}]}).encode()
    plain = _event({"index": 0, "finish_reason": "stop", "delta": {"content": "grain " * 100_000}})
    found = [
        Case("FR-10", "sse", streamed, record | {"token_events": 1}, []),
        Case("FR-10.own_whole", "sse", whole, record, ["wrong_content_type"]),
        Case("FR-10.own_text", "sse", plain, {"content": "grain " * 100_000, "outcome": "ok"}, ["invalid_utf8"]),
    ]
    return [pytest.param(case, id=case.name) for case in found]


def _event(choice: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps({"model": "probe-a", "choices": [choice]}).encode()


def shown(exchange: Exchange) -> dict[str, Any]:
    """The record with the corpus' own spellings added: calls as lists, choice 1 as ``content_1``, ``finish_1``."""
    flat = record(exchange)
    flat["tool_calls"] = [[call["id"], call["name"], call["arguments"]] for call in flat["tool_calls"]]
    for choice in flat["choices"][1:]:
        flat |= {f"{key}_{choice['index']}": value for key, value in choice.items()}
    return flat


def check(exchange: Exchange, case: Case, *, but: frozenset[str] = frozenset()) -> None:
    """Fail unless the record holds all that the case wants (except the fields `but`), flags as a subset."""
    flat = shown(exchange)
    got = {key: flat[key] for key in case.want if key not in {"flags", *but}}
    assert got == {key: value for key, value in case.want.items() if key not in {"flags", *but}}
    assert set(case.want.get("flags", [])) <= set(flat["flags"])
    assert not set(case.not_flags) & set(flat["flags"])


def recut(capture: Capture, size: int) -> Capture:
    """The same capture with its body cut into reads of `size` bytes, each with the stamp of its first byte."""
    reads = [
        Read(read.at_ns, read.data[at : at + size]) for read in capture.reads for at in range(0, len(read.data), size)
    ]
    return replace(capture, reads=tuple(reads))
