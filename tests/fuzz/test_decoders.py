"""Nearly right captures in every protocol. Oracles: the named outcomes, the codec, and the same bytes cut elsewhere.

What once failed is kept in ``corpus`` as capture files, and tried first. A longer hunt, which adds to them:
``python -m tests.fuzz.test_decoders SECONDS``.
"""

import hashlib
import pathlib
import random
import sys
import time
from dataclasses import replace
from typing import get_args

import pytest

from jobs.explain import document, lines
from monitor import codec
from monitor.types import Capture, Exchange, Outcome, Read
from monitor.wire.annotate import explained
from monitor.wire.dispatch import decode, protocols
from monitor.wire.files import dump, load
from monitor.wire.record import record
from tests.fuzz.mutate import mutated, seeds

CORPUS = pathlib.Path(__file__).parent / "corpus"
OUTCOMES = frozenset(get_args(Outcome))
ROUNDS = 3000


def assert_sound(capture: Capture) -> None:
    """A named outcome; a record that reads back; an explanation; and no word about where the reads were cut."""
    exchange = decode(capture)
    assert exchange.outcome in OUTCOMES
    assert codec.encode(codec.decode(Exchange, codec.encode(exchange))) == codec.encode(exchange)
    assert record(exchange)["outcome"] == exchange.outcome
    again, events = explained(capture, protocols()[capture.protocol])
    assert codec.encode(again) == codec.encode(exchange)
    assert all(line.isascii() for line in lines(exchange, events))
    assert codec.encode(document(exchange, events))
    still = replace(capture, t0_ns=None, eof_ns=None)
    whole = replace(still, reads=(Read(0, capture.body),) if capture.reads else ())
    assert decode(whole) == decode(still)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.capture")), ids=lambda path: path.stem)
def test_what_once_failed(path: pathlib.Path) -> None:
    assert_sound(load(path.read_bytes(), "capture"))


def test_mutations_of_the_golden_corpus() -> None:
    found, rng = seeds(), random.Random(20260301)
    for _ in range(ROUNDS):
        assert_sound(mutated(rng.choice(found), rng))


def hunt(seconds: float) -> None:
    """Mutate until the time is up; keep what fails, and say why."""
    found, rng, until, tried = seeds(), random.Random(), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        capture = mutated(rng.choice(found), rng)
        tried += 1
        try:
            assert_sound(capture)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a find
            data = dump(capture)
            (CORPUS / f"{hashlib.sha256(data).hexdigest()[:12]}.capture").write_bytes(data)
            sys.stdout.write(f"{type(error).__name__}: {str(error)[:300]}\n")
    sys.stdout.write(f"{tried} captures tried\n")


if __name__ == "__main__":
    hunt(float(sys.argv[1]))
