"""DeepSeek's own API. Thinking is on by default in its hybrid models, and logprobs are refused while it is on."""

from monitor.wire.wording import Dialect, Wording

_OFF = {"thinking": {"type": "disabled"}}

DIALECT = Dialect(
    kind="deepseek",
    source="api-docs.deepseek.com (create chat completion, thinking mode, Anthropic API)",
    wordings={
        "openai_chat": Wording(cannot=frozenset({"seed"}), max_top_logprobs=20, reasoning_off=_OFF,
                               reasoning_in=("reasoning_content",)),
        "anthropic_messages": Wording(min_cap=1, reasoning_off=_OFF, reasoning_in=("thinking",),
                                      key_header="x-api-key", key_prefix=""),
    },
)  # fmt: skip
