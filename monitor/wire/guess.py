"""Which protocol an answer can only belong to: for captures that do not say which one they are of."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from monitor.types import Capture
from monitor.wire.lenient import NotJsonError, loads
from monitor.wire.sse import frame

_LOOKED_AT = 8
_START = 2**16
"""An event that names its protocol comes early."""


def guessed(capture: Capture) -> str | None:
    """Return the protocol that one of the first objects of the body belongs to without doubt, else None.

    OpenAI chat is never returned: it is what answers are read as when nothing says otherwise.
    """
    named = (_protocol(value) for value in islice(_objects(capture), _LOOKED_AT))
    return next((protocol for protocol in named if protocol is not None), None)


def _objects(capture: Capture) -> Iterator[dict[str, Any]]:
    """The first objects: of events, of lines, or the whole body if it is one."""
    body = capture.body
    start = body.lstrip(b"\xef\xbb\xbf \t\r\n")
    texts = (start.split(b"\n", 1)[0], start) if start.startswith(b"{") else _events(capture)
    for text in texts:
        try:
            value, _ = loads(text)
        except NotJsonError:
            continue
        if isinstance(value, dict):
            yield value


def _events(capture: Capture) -> tuple[bytes, ...]:
    reads, size = [], 0
    for read in capture.reads:
        reads.append(read)
        size += len(read.data)
        if size > _START:
            break
    return tuple(event.data for event in frame(reads).events[:_LOOKED_AT])


def _protocol(value: dict[str, Any]) -> str | None:
    kind = value.get("type")
    begun, answer = value.get("message"), value.get("response")
    if kind == "message_start" and isinstance(begun, dict):
        return "anthropic_messages"
    if kind == "message" and isinstance(value.get("content"), list):
        return "anthropic_messages"
    if isinstance(kind, str) and kind.startswith("response.") and isinstance(answer, dict):
        return "openai_responses"
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return "openai_responses"
    if isinstance(value.get("done"), bool) and "choices" not in value:
        return _ollama(begun, answer)
    return "openai_completions" if _is_completion(value) else None


def _ollama(message: Any, response: Any) -> str | None:
    if isinstance(message, dict):
        return "ollama_chat"
    return "ollama_generate" if isinstance(response, str) else None


def _is_completion(value: dict[str, Any]) -> bool:
    """Whether all choices hold text and nothing of a chat; the name alone is not enough, since chats bear it too."""
    choices = value.get("choices")
    if value.get("object") != "text_completion" or not isinstance(choices, list) or not choices:
        return False
    return all(
        isinstance(choice, dict) and isinstance(choice.get("text"), str) and not {"delta", "message"} & set(choice)
        for choice in choices
    )
