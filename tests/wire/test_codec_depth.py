"""`monitor.codec` cannot write what nests hundreds of levels deep. Oracle: that no answer from the wire reaches it."""

import pytest

from monitor import codec
from monitor.types import Capture, Exchange, Read
from monitor.wire.dispatch import decode, protocols
from monitor.wire.record import record


def deep(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def test_the_codec_does_refuse_deep_mappings() -> None:
    value: object = 1
    for _ in range(400):
        value = {"a": value}
    with pytest.raises(TypeError):
        codec.encode(Exchange(outcome="ok", usage={"deep": value}))


FIELDS = ("usage", "error", "model", "message", "response", "delta", "content_block", "item", "output", "content")


@pytest.mark.parametrize("depth", [9, 60, 250, 400, 900])
@pytest.mark.parametrize("kind", sorted(protocols()))
def test_no_field_of_any_protocol_carries_depth_into_the_record(kind: str, depth: int) -> None:
    for field in FIELDS:
        for text in (f'{{"{field}":{deep(depth)}}}', f'{{"type":"message","{field}":[{deep(depth)}],"done":true}}'):
            for body in (text, f"data: {text}\n\n", f"event: message_start\ndata: {text}\n\n"):
                exchange = decode(Capture(status=200, protocol=kind, reads=(Read(0, body.encode()),)))
                assert codec.encode(record(exchange))
                assert codec.encode(exchange)
