"""Azure OpenAI by deployment: the model of the configuration is the deployment's name, the base URL the resource.

The newer address ``https://NAME.openai.azure.com/openai/v1`` speaks the plain dialect.
"""

from monitor.wire.wording import Dialect, Wording

_DEPLOYMENT = "/openai/deployments/{model}"

DIALECT = Dialect(
    kind="azure",
    source="learn.microsoft.com, Azure OpenAI data plane inference 2024-10-21 (the last dated GA version)",
    query=(("api-version", "2024-10-21"),),
    wordings={
        "openai_chat": Wording(path=f"{_DEPLOYMENT}/chat/completions", max_top_logprobs=20,
                               key_header="api-key", key_prefix=""),
        "openai_completions": Wording(path=f"{_DEPLOYMENT}/completions", max_top_logprobs=5,
                                      key_header="api-key", key_prefix=""),
    },
)  # fmt: skip
