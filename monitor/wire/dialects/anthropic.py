"""Anthropic's own Messages API."""

from monitor.wire.wording import Dialect, Wording

DIALECT = Dialect(
    kind="anthropic",
    source="Anthropic API reference (messages, streaming messages)",
    wordings={
        "anthropic_messages": Wording(min_cap=1, reasoning_off={"thinking": {"type": "disabled"}},
                                      reasoning_in=("thinking",), key_header="x-api-key", key_prefix=""),
    },
)  # fmt: skip
