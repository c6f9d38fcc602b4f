"""Text Generation Inference: five alternatives unless the server was started with more."""

from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="tgi",
    source="huggingface/text-generation-inference router/src/lib.rs (ChatRequest, CompletionRequest)",
    wordings={
        "openai_chat": Wording(max_top_logprobs=5),
        "openai_completions": Wording(cannot=frozenset({"echo", "top_logprobs"})),
    },
)
