"""Mistral's own API: no logprobs, the seed has another name, usage always ends the stream."""

from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="mistral",
    source="docs.mistral.ai (chat completion); mistralai/client-python ChatCompletionRequest",
    wordings={
        "openai_chat": Wording(cannot=frozenset({"top_logprobs"}), seed="random_seed", stream_usage=False,
                               reasoning_in=("content_parts",)),
    },
)  # fmt: skip
