"""In what pieces streams bring their text. Oracle: lengths counted by hand."""

from typing import Any

import orjson

from monitor.fragments import Fragments
from monitor.types import Capture, Exchange, Read
from monitor.wire.dispatch import decode
from tests.tools.made import call, frame, streamed, whole


def decoded(body: bytes, kind: str = "text/event-stream", **fields: Any) -> Exchange:
    return decode(Capture(status=200, headers=(("content-type", kind),), reads=(Read(0, body),), **fields))


def pieces(channel: Any, tiny: tuple[int, int], normal: tuple[int, int], large: tuple[int, int]) -> Fragments:
    return Fragments(
        channel=channel, n_tiny=tiny[0], chars_tiny=tiny[1], n_normal=normal[0], chars_normal=normal[1],
        n_large=large[0], chars_large=large[1],
    )  # fmt: skip


def test_pieces_are_counted_per_channel_at_their_borders() -> None:
    parts: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""}, {"reasoning_content": "hm"}, {"content": "né"},
        *({"content": "x" * n} for n in (1, 4, 5, 200, 201)), {"tool_calls": [call(arguments='{"a":')]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]},
    ]  # fmt: skip
    found = decoded(streamed([*(frame(part) for part in parts), frame({}, "tool_calls")]))
    assert found.fragments == (
        pieces("content", (3, 7), (2, 205), (1, 201)), pieces("reasoning", (1, 2), (0, 0), (0, 0)),
        pieces("arguments", (1, 2), (1, 5), (0, 0)),
    )  # fmt: skip
    assert [one.n for one in found.fragments] == [6, 1, 2]


def test_repeated_events_are_pieces_each() -> None:
    body = streamed([*(frame({"content": "ab"}) for _ in range(7)), frame({}, "stop")])
    assert decoded(body).fragments == (pieces("content", (7, 14), (0, 0), (0, 0)),)


def test_what_was_not_streamed_has_no_pieces() -> None:
    assert decoded(orjson.dumps(whole({"content": "All of it."})), "application/json").fragments == ()
    assert decoded(streamed([frame({}, "stop")])).fragments == ()


def test_other_protocols_too() -> None:
    lines = [{"message": {"content": "ab"}, "done": False}, {"message": {"content": "cdefg"}, "done": False},
             {"message": {"content": ""}, "done": True, "done_reason": "stop"}]  # fmt: skip
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    assert decoded(body, "application/x-ndjson", protocol="ollama_chat").fragments == (
        pieces("content", (1, 2), (1, 5), (0, 0)),
    )
