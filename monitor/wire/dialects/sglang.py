"""SGLang. No limit on the number of alternatives is documented."""

from monitor.wire.dialects.vllm import TEMPLATE_OFF
from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="sglang",
    source="sgl-project/sglang, python/sglang/srt/entrypoints/openai/protocol.py; docs, separate reasoning",
    wordings={
        "openai_chat": Wording(reasoning_off=TEMPLATE_OFF, reasoning_in=("reasoning_content",)),
        "openai_completions": Wording(),
    },
)
