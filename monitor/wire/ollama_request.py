"""What the two native requests of Ollama share."""

from typing import Any

from monitor.types import Request
from monitor.wire.speaker import Speaker


def common(speaker: Speaker, request: Request) -> dict[str, Any]:
    """Return stream, options and logprobs of `request`, which `speaker` has already cut to what it can say."""
    options = {speaker.wording.cap: request.max_tokens, **speaker.sampling(request)}
    wanted: dict[str, Any] = {"stream": request.stream, "options": options}
    if request.top_logprobs is not None:
        wanted |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    return wanted
