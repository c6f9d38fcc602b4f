"""Ingest under random and mutated bodies. Oracle: an answer that the API promises, never an exception or a torn store.

The whole of it: ``python -m tests.storage.test_fuzz 100000``.
"""

import asyncio
import copy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
import orjson

from monitor.codec import encode
from monitor.kept import kept_captures
from monitor.types import Capture, Read
from storage.api import app
from storage.interface import ReadStore
from storage.store import DuckStore
from tests.storage.alert_nouns import ack, delivery, sign, silence, track
from tests.storage.factories import endpoint, entries, incident, judged, run_record, slot, verdict

RECORD = run_record("r1")
CAPTURE = next(kept_captures(RECORD, [Capture(reads=(Read(0, b"x"),))] * 2))
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 2**63 - 1, 2**64, -(2**63), 1e308, "", "\x00", "a" * 1000, "2026-03-01T12:00:00",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999-12:00", "'; DROP TABLE runs; --", "\U0001f600\u202e", [], {},
    [[]], [None], {"": {}}, {"a": [1]},
]  # fmt: skip


def _valid() -> list[dict[str, Any]]:
    nouns = (endpoint(), RECORD, slot(), judged(RECORD), verdict(), incident())
    alerts = (("alert_track", track()), ("delivery", delivery()), ("silence", silence()), ("ack", ack()))
    packed = [(entry.kind, entry.data) for entry in entries(*nouns)]
    listed = [*packed, *((kind, encode(noun)) for kind, noun in alerts), CAPTURE, ("agent", encode(sign()))]
    return [{"seq": i, "kind": kind, "data": orjson.loads(data)} for i, (kind, data) in enumerate(listed, 1)]


VALID = _valid()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a document."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def body(rng: np.random.Generator, seq: int) -> bytes:
    """A valid batch with some values replaced, removed or added, and now and then some bytes changed."""
    chosen = copy.deepcopy([VALID[i] for i in rng.choice(len(VALID), size=int(rng.integers(1, 4)))])
    # New writers again and again: one that claimed the last number of all is heard of no more.
    document: Any = {"writer": f"w{rng.integers(3)}-{seq // 100}", "entries": chosen}
    for i, entry in enumerate(chosen):
        entry["seq"] = seq + i
    for _ in range(int(rng.integers(0, 4))):
        places = _places(document)
        if not places:
            break
        container, key = places[int(rng.integers(len(places)))]
        odd = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
        if rng.random() < 0.2 and isinstance(container, dict):
            del container[key]
        else:
            container[key] = odd
    try:
        text = bytearray(orjson.dumps(document))
    except TypeError:  # an integer that no JSON writer of ours takes
        text = bytearray(repr(document).encode("utf-8", "replace"))
    text = bytearray(bytes(text).replace(b'"r1', b'"r%d' % (seq // 8)))  # runs that are new, most of them
    for _ in range(int(rng.integers(0, 3)) if rng.random() < 0.2 else 0):
        text[int(rng.integers(len(text)))] = int(rng.integers(256))
    return bytes(text)


async def attack(store: ReadStore, n: int, seed: int) -> dict[int, int]:
    """Send `n` bodies; return how often each status was answered."""
    rng = np.random.default_rng(seed)
    seen: dict[int, int] = {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app(store)), base_url="http://store") as client:
        for i in range(n):
            sent = body(rng, 4 * i + 1)
            reply = await client.post("/api/ingest", content=sent, headers={"Content-Type": "application/json"})
            seen[reply.status_code] = seen.get(reply.status_code, 0) + 1
            assert reply.status_code in {200, 400}, (sent, reply.text)
            assert set(reply.json()) in ({"mark"}, {"error"})
        for path in ("/api/overview", "/api/unjudged", "/api/verdicts", "/api/incidents", "/api/slots", "/metrics"):
            assert (await client.get(path)).status_code == 200, path
    return seen


async def test_mutated_bodies(store: ReadStore) -> None:
    seen = await attack(store, 60, seed=1)
    assert seen[200] > 20
    assert seen[400] > 2
    counts = store.counts()
    assert counts["rejected"] > 5
    assert counts["runs"] > 0


def main(n: int) -> None:
    """Attack a store in a file."""
    with TemporaryDirectory() as folder:
        store = DuckStore(Path(folder) / "store.duckdb")
        sys.stdout.write(f"{asyncio.run(attack(store, n, seed=2))} {store.counts()}\n")
        store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
