"""llama.cpp's server: alternatives up to the whole vocabulary; completions have the logprobs of chat."""

from monitor.wire.dialects.vllm import TEMPLATE_OFF
from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="llama_cpp",
    source="ggml-org/llama.cpp tools/server/README.md, and own runs of the server",
    wordings={
        "openai_chat": Wording(reasoning_off=TEMPLATE_OFF, reasoning_in=("reasoning_content",)),
        "openai_completions": Wording(cannot=frozenset({"echo"})),
        "anthropic_messages": Wording(min_cap=1, reasoning_in=("thinking",), key_header="x-api-key", key_prefix=""),
    },
)
