"""In what pieces a stream brought its text: one character at a time reads otherwise than whole paragraphs do.

Sizes as MiniMax's checks of stream quality have them: tiny 1 to 4 characters, normal 5 to 200, large above.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from monitor.fragments import Channel, Fragments
from monitor.wire.choice_state import ChoiceState

BORDERS = (4, 200)
"""Most characters of a tiny and of a normal piece."""


def fragments_of(states: Iterable[ChoiceState]) -> tuple[Fragments, ...]:
    """Return the pieces per channel of a stream, all choices together; channels without any are left out."""
    lengths: dict[Channel, Counter[int]] = {"content": Counter(), "reasoning": Counter(), "arguments": Counter()}
    for state in states:
        lengths["content"].update(map(len, state.content))
        lengths["reasoning"].update(map(len, state.reasoning))
        for slot in state.calls.slots:
            lengths["arguments"].update(map(len, slot.parts))
    return tuple(_sized(channel, found) for channel, found in lengths.items() if found)


def _sized(channel: Channel, lengths: Counter[int]) -> Fragments:
    pieces, chars = [0, 0, 0], [0, 0, 0]
    for length, n in lengths.items():
        size = bisect_right(BORDERS, length - 1)
        pieces[size] += n
        chars[size] += n * length
    return Fragments(
        channel=channel, n_tiny=pieces[0], n_normal=pieces[1], n_large=pieces[2],
        chars_tiny=chars[0], chars_normal=chars[1], chars_large=chars[2],
    )  # fmt: skip
