"""vLLM. ``--max-logprobs`` is 20 unless the server says otherwise; templates ignore arguments that they do not know."""

from monitor.wire.wording import Dialect, Wording

TEMPLATE_OFF = {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
"""Qwen, GLM and most others read the first name, the DeepSeek and Kimi templates the second."""

DIALECT = Dialect(
    kind="vllm",
    source="vllm-project/vllm, vllm/entrypoints/openai (protocol.py of chat, completion, responses) and anthropic",
    wordings={
        "openai_chat": Wording(max_top_logprobs=20, reasoning_off=TEMPLATE_OFF,
                               reasoning_in=("reasoning", "reasoning_content")),
        "openai_completions": Wording(max_top_logprobs=20),
        "openai_responses": Wording(cap="max_output_tokens", max_top_logprobs=20, reasoning_in=("reasoning_text",)),
        "anthropic_messages": Wording(min_cap=1, reasoning_in=("thinking",)),
    },
)  # fmt: skip
