"""Ollama's native API. Logprobs need version 0.12.11 or later; older ones ignore the request for them."""

from monitor.wire.wording import Dialect, Wording

_WORDS = Wording(cap="num_predict", max_top_logprobs=20, reasoning_off={"think": False}, reasoning_in=("thinking",))

DIALECT = Dialect(
    kind="ollama",
    source="ollama/ollama docs/api.md and api/types.go",
    wordings={"ollama_chat": _WORDS, "ollama_generate": _WORDS},
)
