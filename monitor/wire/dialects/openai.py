"""Plain OpenAI: what nearly every server understands, and the default of the three OpenAI protocols."""

from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="openai",
    source="OpenAI API reference (chat completions, completions, responses)",
    wordings={
        "openai_chat": Wording(max_top_logprobs=20),
        "openai_completions": Wording(max_top_logprobs=5),
        "openai_responses": Wording(cap="max_output_tokens", min_cap=16, max_top_logprobs=20,
                                    reasoning_in=("reasoning_text", "reasoning_summary")),
    },
)  # fmt: skip
