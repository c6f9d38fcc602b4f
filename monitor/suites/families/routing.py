"""Calls the right one of several tools, with the right argument."""

import random
from typing import ClassVar

from monitor.suites.families.made import NAMES, Made, asked, distinct, of_level, word
from monitor.suites.oracles.tool_call import ToolCalls, WantedCall

_TASKS = (
    ("open_ticket", "Open a support ticket for a customer", "Please open a support ticket for {}."),
    ("cancel_order", "Cancel the order of a customer", "The order of {} must be cancelled."),
    ("send_invoice", "Send an invoice to a customer", "Send {} an invoice."),
    ("block_card", "Block the card of a customer", "{} has lost a card: block it."),
    ("book_room", "Book a meeting room for a person", "Book a meeting room for {}."),
    ("call_back", "Arrange that a person is called back", "{} wants to be called back."),
    ("raise_limit", "Raise the credit limit of a customer", "Raise the credit limit of {}."),
    ("close_account", "Close the account of a customer", "{} wants the account closed."),
)  # fmt: skip


class Routing:
    """More tools are harder: 1 to 8."""

    kind: ClassVar[str] = "routing"
    levels: ClassVar[int] = 4

    def make(self, rng: random.Random, level: int) -> Made:
        """Make a request that one of the tools serves. Names of tools carry a made-up ending: none can be known."""
        chosen = rng.sample(range(len(_TASKS)), of_level(level, 1, 2, 4, 8))
        ending, (name,) = word(rng), distinct(rng, 1, NAMES)
        wanted, _, request = _TASKS[chosen[0]]
        shown = sorted(chosen)
        tools = tuple(
            {"type": "function", "function": {"name": f"{_TASKS[at][0]}_{ending}", "description": _TASKS[at][1],
             "parameters": {"type": "object", "properties": {"person": {"type": "string"}}, "required": ["person"]}}}
            for at in shown
        )  # fmt: skip
        call = WantedCall(name=f"{wanted}_{ending}", arguments={"person": (name,)})
        return Made(
            messages=asked(request.format(name)), tools=tools, oracles=(ToolCalls(calls=(call,)),), max_tokens=64
        )


FAMILY = Routing
