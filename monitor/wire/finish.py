"""Finish reasons: the words in use, mapped to five."""

_WORDS = {
    "stop": ("stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "stop_token", "complete", "completed"),
    "length": ("length", "max_tokens", "model_length", "max_output_tokens", "max_length",
               "model_context_window_exceeded"),
    "tool_calls": ("tool_calls", "tool_call", "function_call", "tool_use"),
    "content_filter": ("content_filter", "content_filtered", "sensitive", "safety", "recitation", "blocklist",
                       "prohibited_content", "refusal"),
    "error": ("error", "abort", "aborted", "network_error", "insufficient_system_resource", "failed", "cancelled"),
}  # fmt: skip
_MEANING = {word: meaning for meaning, words in _WORDS.items() for word in words}


def normalised(raw: str) -> str | None:
    """Return ``stop``, ``length``, ``tool_calls``, ``content_filter``, ``error`` or ``other:<raw>``; None for ``""``.

    Letter case and blanks around the word do not matter.
    """
    word = raw.strip()
    return _MEANING.get(word.lower(), f"other:{word}") if word else None
