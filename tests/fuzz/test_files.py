"""Capture files that are nearly right. Oracle: a record with a named outcome, or a `UsageError`; nothing else.

The whole of it, files and captures by turns, with time and memory: ``python -m tests.fuzz.test_files 100000``.
"""

import random
import resource
import sys
import time
from collections import Counter
from dataclasses import replace

import orjson

from monitor import codec
from monitor.errors import UsageError
from monitor.types import Capture
from monitor.wire.dispatch import decode, protocols
from monitor.wire.files import FORMATS, load
from monitor.wire.guess import guessed
from monitor.wire.record import record
from tests.fuzz.mutate import GOLDEN, TEXTS, VALUES, mutated, seeds
from tests.fuzz.test_decoders import OUTCOMES
from tests.wire.test_foreign_files import entry, har

CURL = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/2 200\r\ncontent-type: application/json\r\n\r\n{}"
File = tuple[str, bytes]


def files() -> list[File]:
    """Format and bytes of every golden file, and of the two foreign formats."""
    golden = [
        (path.suffix[1:], path.read_bytes()) for path in sorted(GOLDEN.iterdir()) if path.suffix[1:] in FORMATS
    ]
    foreign = [("har", har(entry("{}"), entry("data: {}\n\n"))), ("har", har(entry(""))), ("curl", CURL)]
    return golden + foreign * (len(golden) // 20)


def changed(found: list[File], rng: random.Random) -> File:
    """One of them with up to four changes of its bytes or of a value in one of its lines, now and then as another."""
    form, data = rng.choice(found)
    for _ in range(rng.randint(1, 4)):
        data = rng.choice((_bytes, _value))(data, rng)
    return (rng.choice(sorted(FORMATS)) if rng.random() < 0.1 else form), data


def _bytes(data: bytes, rng: random.Random) -> bytes:
    at, drop = rng.randint(0, len(data)), rng.choice((0, 0, 1, 9, 200))
    return data[:at] + rng.choice(TEXTS) + data[at + drop :]


def _value(data: bytes, rng: random.Random) -> bytes:
    """A key of an object in one line with another value."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        value = orjson.loads(lines[at])
        inner = value
        while isinstance(inner, dict | list) and inner:
            key = rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            if not isinstance(inner[key], dict | list) or rng.random() < 0.3:
                inner[key] = rng.choice(VALUES)
                break
            inner = inner[key]
        lines[at] = orjson.dumps(value)
    except (orjson.JSONDecodeError, TypeError):
        return data
    return b"\n".join(lines)


def read(form: str, data: bytes) -> str:
    """The outcome in the record of a file, as ``weighmaster decode`` makes it, or ``refused``."""
    try:
        capture = load(data, form, index=0 if form == "har" else None)
    except UsageError as error:
        return "refused" if str(error) else "refused without a word"
    if capture.protocol not in protocols():
        return "refused"
    protocol = guessed(capture) if form != "capture" else None
    return outcome_of(capture if protocol is None else replace(capture, protocol=protocol))


def outcome_of(capture: Capture) -> str:
    """The outcome of a capture whose record can be written."""
    exchange = decode(capture)
    assert codec.encode(record(exchange))
    return exchange.outcome


def test_mutated_capture_files() -> None:
    found, rng = files(), random.Random(8)
    seen = Counter(read(*changed(found, rng)) for _ in range(800))
    assert seen.keys() <= OUTCOMES | {"refused"}
    assert seen["refused"] > 20
    assert seen["ok"] > 20


def hunt(n: int) -> None:
    """Try `n`; tell what fails, and now and then how far it is and what it took."""
    found, whole, rng = files(), seeds(), random.Random(1)
    seen: Counter[str] = Counter()
    longest_s = 0.0
    for i in range(1, n + 1):
        capture, file = mutated(rng.choice(whole), rng), changed(found, rng)
        started_s = time.process_time()
        try:
            seen[read(*file) if i % 2 else outcome_of(capture)] += 1
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a find
            seen[type(error).__name__] += 1
            sys.stdout.write(f"{type(error).__name__}: {str(error)[:300]}\n{file if i % 2 else capture!r}\n")
        longest_s = max(longest_s, time.process_time() - started_s)
        if i % max(n // 20, 1) == 0:
            most_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            sys.stdout.write(f"{i} tried: {dict(seen)}; the longest {longest_s:.2f} s, at most {most_mb:.0f} MB\n")
            sys.stdout.flush()


if __name__ == "__main__":
    hunt(int(sys.argv[1]))
