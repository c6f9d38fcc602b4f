"""Whether the body in a log line is an answer that can be read, and whether its words were logged at all.

A gateway logs all of its traffic: answers of other APIs, lists of models, and answers with the words taken out. None of
these is an empty answer of the endpoint.
"""

from collections.abc import Mapping
from typing import Any

from monitor.types import Capture
from monitor.wire.guess import guessed
from monitor.wire.usage import read_usage

_SAID = ("tool_calls", "function_call", "reasoning", "reasoning_content", "reasoning_details", "refusal", "audio")


def protocol_of(body: Any, capture: Capture) -> str | None:
    """The protocol to read `body` in, which `capture` holds; None where it is no answer of a known one.

    Parameters
    ----------
    body
        The parsed JSON that came with a status of success.
    """
    if not isinstance(body, dict):
        return None
    if body.get("error") or _messages(body) or body.get("object") == "chat.completion":
        return "openai_chat"
    return guessed(capture)


def holds_words(body: Any) -> bool:
    """Whether a chat answer says what was said, if only that it was nothing.

    A message without `content`, or with none but null, has had its words taken out, unless it calls a tool or thinks,
    or its usage says that no token was generated.
    """
    messages = _messages(body)
    if not messages:
        return True
    if any(isinstance(one.get("content"), str | list) or any(one.get(key) for key in _SAID) for one in messages):
        return True
    usage = body.get("usage")
    return isinstance(usage, Mapping) and read_usage(usage).generated == 0


def _messages(body: Any) -> list[Mapping[str, Any]]:
    choices = body.get("choices") if isinstance(body, dict) else None
    listed = choices if isinstance(choices, list) else []
    found = [one.get("message") for one in listed if isinstance(one, dict)]
    return [one for one in found if isinstance(one, dict)]
