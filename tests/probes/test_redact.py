"""The key never gets into a capture, however it was cut by the network."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from monitor.types import Read
from probes.redact import redact

SECRET = "sk-abc123"


@given(st.lists(st.sampled_from([b"x", b"{}", SECRET.encode(), b"sk-", b"\xff"]), max_size=12), st.randoms())
def test_gone_at_every_cut_with_lengths_and_stamps_kept(parts: list[bytes], random: object) -> None:
    body = b"".join(parts)
    cuts = sorted({random.randrange(len(body) + 1) for _ in range(4)}) if body else []  # type: ignore[attr-defined]
    edges = [0, *cuts, len(body)]
    reads = [Read(index, body[a:b]) for index, (a, b) in enumerate(pairwise(edges))]
    cleaned = redact(reads, SECRET)
    assert SECRET.encode() not in b"".join(read.data for read in cleaned)
    assert [(read.at_ns, len(read.data)) for read in cleaned] == [(read.at_ns, len(read.data)) for read in reads]


def test_a_placeholder_key_does_not_damage_the_answer() -> None:
    reads = (Read(1, b'{"tokens": 3}'),)
    assert redact(reads, "k") == reads


def test_nothing_to_hide_nothing_changed() -> None:
    reads = (Read(1, b"hello"),)
    assert redact(reads, SECRET) == reads
    assert redact(reads, None) == reads
