"""Faults that two exchanges show: the same request, streamed and not."""

from monitor.faults.kinds import Found
from monitor.faults.profiles import Profile
from monitor.faults.seen import Seen
from monitor.tools.strict_json import read_object
from monitor.types import Exchange
from monitor.wire.usage import read_usage


def find_in_pair(streamed: Exchange, whole: Exchange, profile: Profile) -> Found | None:
    """Return how one request at temperature 0 was answered otherwise when it was streamed; None where it was not.

    What is compared is what arrives in which channel, not the words: engines are not bit-equal, but a call or a text
    that one way of asking loses is lost by a parser.
    """
    if not all(map(_complete, (streamed, whole))) or streamed.request is None or streamed.request.temperature != 0:
        return None
    sign = _difference(streamed, whole)
    if sign is None:
        return None
    return Seen(exchange=streamed, profile=profile).found("stream_differs", "stream", sign)


def _complete(exchange: Exchange) -> bool:
    return exchange.outcome in {"ok", "empty"}


def _difference(streamed: Exchange, whole: Exchange) -> str | None:
    one, other = streamed.choice, whole.choice
    if len(one.tool_calls) != len(other.tool_calls):
        return f"{len(one.tool_calls)} calls in the stream, {len(other.tool_calls)} without"
    if [call.name for call in one.tool_calls] != [call.name for call in other.tool_calls]:
        return "other names of calls"
    broken = [[read_object(call.arguments).fault is not None for call in way.tool_calls] for way in (one, other)]
    if broken[0] != broken[1]:
        return "arguments can be read in one way only"
    for channel in ("content", "reasoning"):
        if bool(getattr(one, channel).strip()) != bool(getattr(other, channel).strip()):
            return f"{channel} comes in one way only"
    counts = [read_usage(way.usage or {}).input_total for way in (streamed, whole)]
    if None not in counts and counts[0] != counts[1]:
        return f"{counts[0]:g} prompt tokens in the stream, {counts[1]:g} without"
    return None
