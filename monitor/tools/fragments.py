"""In what pieces streamed answers came: shares of tiny and of large ones, as MiniMax's checks of stream quality count.

Pieces of one answer are alike, so the interval of a share, which takes pieces for independent, is narrower than it
should be: a share tells how an endpoint streams, and convicts nobody.
Source: notes on MiniMax-Provider-Verifier, stream quality (September 2026): 1 to 4 characters tiny, above 200 large.
"""

from collections.abc import Sequence

from monitor.fragments import Channel, Fragments
from monitor.results import Metric, Observation
from monitor.tools.graded import Graded
from monitor.tools.measures import ratio

_CHANNELS: tuple[Channel, ...] = ("content", "arguments")
_SIZES = ("tiny", "large")
_WORDS = {"tiny": "1 to 4 characters", "large": "more than 200 characters"}

METRICS: tuple[Metric, ...] = tuple(
    Metric(name=f"tool_{channel}_{size}_{what}", unit="share", better="neither", source="T3",
           definition=f"{what.capitalize()} of {channel} in pieces of {_WORDS[size]} / all {what} of {channel} "
                      "in streamed answers.")
    for channel in _CHANNELS for size in _SIZES for what in ("pieces", "characters")
)  # fmt: skip


def observed(graded: Sequence[Graded]) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`, of answers that came to their end."""
    return tuple(
        ratio(f"tool_{channel}_{size}_{what}", *_share(graded, channel, size, what))
        for channel in _CHANNELS for size in _SIZES for what in ("pieces", "characters")
    )  # fmt: skip


def _share(graded: Sequence[Graded], channel: Channel, size: str, what: str) -> tuple[int, int]:
    some = [found for one in graded if one.finished for found in one.exchange.fragments if found.channel == channel]
    return sum(_count(one, size, what) for one in some), sum(
        _count(one, each, what) for one in some for each in ("tiny", "normal", "large")
    )


def _count(one: Fragments, size: str, what: str) -> int:
    return int(getattr(one, f"{'n' if what == 'pieces' else 'chars'}_{size}"))
