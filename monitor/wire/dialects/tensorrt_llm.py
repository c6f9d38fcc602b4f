"""TensorRT-LLM's server ``trtllm-serve``."""

from monitor.wire.dialects.vllm import TEMPLATE_OFF
from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="tensorrt_llm",
    source="NVIDIA/TensorRT-LLM tensorrt_llm/serve/openai_protocol.py",
    wordings={
        "openai_chat": Wording(reasoning_off=TEMPLATE_OFF, reasoning_in=("reasoning_content",)),
        "openai_completions": Wording(),
        "openai_responses": Wording(cap="max_output_tokens", cannot=frozenset({"top_logprobs"}),
                                    reasoning_in=("reasoning_text",)),
    },
)  # fmt: skip
