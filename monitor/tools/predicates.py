"""Did the answer call a tool? Four questions that verifiers fold into one."""

from collections.abc import Collection
from typing import NamedTuple

from monitor.tools.markup import call_in_text
from monitor.types import Exchange
from monitor.wire.usage import read_usage


class Predicates(NamedTuple):
    """What an answer did about tools.

    ``said``: its finish reason is ``tool_calls``. ``structured``: it holds calls. ``textual``: a call stands in its
    text, where no program finds it. ``silent``: the endpoint counts generated tokens, and delivered nothing.
    """

    said: bool
    structured: bool
    textual: bool
    silent: bool

    @property
    def called(self) -> bool:
        """Whether the model decided for a call, delivered well or badly."""
        return self.structured or self.textual


def predicates(exchange: Exchange, names: Collection[str] = ()) -> Predicates:
    """Return the four answers about choice 0 of `exchange`; `names` are those of the declared tools."""
    choice = exchange.choice
    delivered = bool(choice.content or choice.reasoning or choice.tool_calls)
    return Predicates(
        said=choice.finish == "tool_calls",
        structured=bool(choice.tool_calls),
        textual=call_in_text(choice.content, names) is not None,
        silent=not delivered and bool(read_usage(exchange.usage or {}).generated),
    )
