"""The small parts under the decoders. Oracle: counts and stamps worked out by hand."""

from typing import Any

import pytest

from monitor.types import Read
from monitor.wire.ndjson import frame_lines, is_lines
from monitor.wire.usage import completion_count, read_usage


@pytest.mark.parametrize(
    ("usage", "prompt", "uncached", "generated", "visible"),
    [
        ({"input_tokens": 12, "output_tokens": 3}, 12, None, 3, 3),
        ({"input_tokens": 12, "output_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20},
         132, 32, 3, 3),
        ({"input_tokens": 12, "output_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": None},
         12, 12, 3, 3),
        ({"input_tokens": 11, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 6, "total_tokens": 17,
          "output_tokens_details": {"reasoning_tokens": 4}}, 11, 7, 6, 2),
        ({"prompt_eval_count": 14, "eval_count": 4, "eval_duration": 500}, 14, None, 4, 4),
        ({"eval_count": 4}, None, None, 4, 4),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "eval_count": 99}, 5, None, 2, 2),
        ({"input_tokens": "12", "output_tokens": -3}, 12, None, None, None),
        ({}, None, None, None, None),
    ],
)  # fmt: skip
def test_usage_of_every_protocol(
    usage: dict[str, Any], prompt: int | None, uncached: int | None, generated: int | None, visible: int | None
) -> None:
    reading = read_usage(usage)
    assert (reading.input_total, reading.uncached, reading.generated, reading.visible) == (
        prompt, uncached, generated, visible,
    )  # fmt: skip
    assert completion_count(usage) == generated


def test_a_line_is_stamped_by_the_read_that_ends_it() -> None:
    framing = frame_lines((Read(1, b'{"a":1}'), Read(2, b'\n{"b"'), Read(3, b":2}\n\n"), Read(4, b'{"c":3}')))
    assert [(event.at_ns, event.data) for event in framing.events] == [
        (2, b'{"a":1}'), (3, b'{"b":2}'), (4, b'{"c":3}'),
    ]  # fmt: skip
    assert framing.unterminated


def test_lines_end_only_in_line_feeds() -> None:
    framing = frame_lines((Read(1, b'\xef\xbb\xbf{"a":"\xe2\x80\xa8"}\r\n  \n'),))
    assert [event.data for event in framing.events] == [b'{"a":"\xe2\x80\xa8"}']
    assert not framing.unterminated
    assert frame_lines(()).events == ()


@pytest.mark.parametrize(
    ("data", "streamed", "lines"),
    [
        (b'{"done":false}', True, True), (b'{"done":false}', False, False), (b'{"done":true}', True, False),
        (b'{"error":"x"}', True, False), (b'{"done":false}\n{"done":true}', False, True), (b'{"do', False, True),
        (b'\n{\n "done": true\n}\n', True, False),
    ],
)  # fmt: skip
def test_one_answer_or_many_lines(data: bytes, streamed: bool, lines: bool) -> None:
    assert is_lines(data, streamed=streamed) is lines
