"""Bodies that are no stream and no JSON. Oracle: the table of outcomes in docs/decode.md."""

import numpy as np
import pytest

from monitor.wire.dispatch import decode
from monitor.wire.files import load


@pytest.mark.parametrize("body", [np.random.default_rng(5).bytes(100_000), b"x" * 1_000_000, b"no stream\n\n"])
def test_what_holds_no_event_is_no_answer(body: bytes) -> None:
    assert decode(load(body, "sse")).outcome == "non_json_200"


@pytest.mark.parametrize("body", [b"", b"\n", b": keep-alive\n\n", b": keep-alive\n\nretry\n", b"event: ping\n\n"])
def test_a_stream_without_events_is_empty(body: bytes) -> None:
    assert decode(load(body, "sse")).outcome == "empty"
