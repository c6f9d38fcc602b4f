"""Usage objects of other protocols, in the words of OpenAI's chat completions, which `monitor.wire.usage` reads."""

from collections.abc import Mapping
from typing import Any


def chat_shaped(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `usage` with the names of the chat protocol; unchanged when it has them.

    Anthropic counts cached input apart (``input_tokens`` is what no cache served), OpenAI's Responses within.
    Ollama leaves ``prompt_eval_count`` out when the whole prompt was cached.
    """
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return usage
    if "eval_count" in usage or "prompt_eval_count" in usage:
        return {"prompt_tokens": usage.get("prompt_eval_count"), "completion_tokens": usage.get("eval_count")}
    if "input_tokens" not in usage and "output_tokens" not in usage:
        return usage
    return {
        "prompt_tokens": _whole_input(usage),
        "completion_tokens": usage.get("output_tokens"),
        "total_tokens": usage.get("total_tokens"),
        "prompt_tokens_details": {"cached_tokens": _cached(usage)},
        "completion_tokens_details": usage.get("output_tokens_details"),
    }


def _cached(usage: Mapping[str, Any]) -> Any:
    """Input tokens that a prefix cache served."""
    details = usage.get("input_tokens_details")
    return details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("cache_read_input_tokens")


def _whole_input(usage: Mapping[str, Any]) -> Any:
    """Input tokens with those that were read from or written to the cache, where they were counted apart."""
    apart = [usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")]
    counted = [count for count in apart if type(count) is int]
    fresh = usage.get("input_tokens")
    return fresh + sum(counted) if type(fresh) is int else fresh
