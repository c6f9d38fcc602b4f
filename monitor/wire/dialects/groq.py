"""Groq: no logprobs on any model; the cap has the newer name. Only its Qwen models accept thinking off."""

from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="groq",
    source="console.groq.com/docs/api-reference (chat completions), docs/reasoning",
    wordings={
        "openai_chat": Wording(cannot=frozenset({"top_logprobs"}), cap="max_completion_tokens",
                               reasoning_off={"reasoning_effort": "none"}, reasoning_in=("reasoning",)),
    },
)  # fmt: skip
