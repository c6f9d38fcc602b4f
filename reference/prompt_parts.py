"""Where in a rendered prompt the system turn, the tools, the conversation and the answer's opening words stand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from monitor.errors import GoldenError
from reference.template import ChatTemplate

Messages = Sequence[Mapping[str, Any]]
_ANSWER = {"role": "assistant", "content": "A"}


def head(template: ChatTemplate, messages: Messages) -> str:
    """Return what stands before the first turn of the conversation itself: the system turn, and a start token.

    The text of the first user turn is found by asking the template for it a second time, later in a conversation.
    Empty where the template cannot be taken apart that way (a system prompt inside the user's turn, say).
    """
    turns = [message for message in messages if message["role"] not in {"system", "developer"}]
    if not turns or turns[0]["role"] != "user":
        return ""
    try:
        once = template.render([turns[0], _ANSWER], stub=False)
        twice = template.render([turns[0], _ANSWER, turns[0]], stub=False)
        whole = template.render(messages, stub=False)
    except GoldenError:
        return ""
    turn = twice.removeprefix(once)
    found = whole.find(turn) if turn != twice and turn.strip() else -1
    return whole[:found] if found > 0 else ""


def default_system(template: ChatTemplate) -> str:
    """Return the system turn that the template gives a conversation without one; empty if it gives none."""
    text = head(template, [{"role": "user", "content": "x"}])
    return text if text.strip() else ""


def counts(
    template: ChatTemplate, messages: Messages, tools: Messages, n_tokens: Callable[[str], int]
) -> dict[str, int]:
    """Return the number of tokens of each part of the prompt; together they are the whole prompt.

    ``system`` stands before the first turn (default system prompt and start token included), ``tools`` is what the
    tools add wherever they stand, ``stub`` opens the answer, ``history`` is everything else.

    Raises
    ------
    GoldenError
        When the template refuses the conversation.
    """
    whole = n_tokens(template.render(messages, tools))
    bare = n_tokens(template.render(messages)) if tools else whole
    parts = {
        "system": n_tokens(head(template, messages)),
        "tools": whole - bare,
        "stub": whole - n_tokens(template.render(messages, tools, stub=False)),
    }
    return {**parts, "history": whole - sum(parts.values())}
