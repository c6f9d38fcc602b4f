"""OpenRouter, held to one upstream provider: a route that may change measures nobody."""

from collections.abc import Mapping
from typing import Any

from monitor.wire.wording import Dialect, Wording


def pinned(upstream: str) -> Mapping[str, Any]:
    """Return what keeps a request at `upstream`: no fallback, and no provider that ignores a parameter."""
    return {"provider": {"order": [upstream], "allow_fallbacks": False, "require_parameters": True}}


DIALECT = Dialect(
    kind="openrouter",
    source="openrouter.ai/docs (provider routing, reasoning tokens, parameters)",
    pin=pinned,
    wordings={
        "openai_chat": Wording(max_top_logprobs=20, reasoning_off={"reasoning": {"enabled": False}},
                               reasoning_in=("reasoning", "reasoning_details")),
        "openai_completions": Wording(cannot=frozenset({"echo"}), max_top_logprobs=20),
    },
)  # fmt: skip
