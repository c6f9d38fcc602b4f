"""An echoed prompt, taken off the answer that it precedes."""

from collections.abc import Sequence
from dataclasses import replace

import orjson

from monitor.types import Capture, Choice, Exchange, TokenLogprob
from monitor.wire.alignment import entry_bytes

_UNTIMED = ("ttft_ms", "ttfo_ms", "last_token_ms", "tpot_ms", "tps", "events_per_token", "first_tokens")


def without_echo(exchange: Exchange, capture: Capture) -> Exchange:
    """Return `exchange` with the prompt's text removed from the contents and its logprobs in ``prompt_logprobs``.

    Where the endpoint echoed nothing, though asked, the flag is ``echo_ignored``. An echoed prompt leaves no token
    times: the first piece is the prompt, which nothing generated. A first token without a logprob is as it must be.
    """
    prompt = _echoed_prompt(capture)
    if prompt is None or not exchange.choices:
        return exchange
    if not all(choice.content.startswith(prompt) for choice in exchange.choices):
        return replace(exchange, flags=(*exchange.flags, "echo_ignored"))
    choices = tuple(_split(choice, prompt) for choice in exchange.choices)
    flags = [flag for flag in exchange.flags if flag not in _settled(choices)]
    untimed = dict.fromkeys(_UNTIMED)
    return replace(exchange, choices=choices, flags=tuple(flags), measurement="echoed prompt", **untimed)  # type: ignore[arg-type]


def _echoed_prompt(capture: Capture) -> str | None:
    try:
        body = orjson.loads(capture.sent)
    except orjson.JSONDecodeError:
        return None
    prompt = body.get("prompt") if isinstance(body, dict) and body.get("echo") is True else None
    return prompt if isinstance(prompt, str) else None


def _split(choice: Choice, prompt: str) -> Choice:
    entries = choice.logprobs
    rest = replace(choice, content=choice.content[len(prompt) :])
    if entries is None:
        return rest
    n_prompt = _covering(entries, len(prompt.encode("utf-8", "replace")))
    return replace(rest, logprobs=entries[n_prompt:], prompt_logprobs=entries[:n_prompt])


def _covering(entries: Sequence[TokenLogprob], n_bytes: int) -> int:
    """How many entries it takes to cover `n_bytes`; a token that reaches beyond belongs to the prompt."""
    covered = 0
    for position, entry in enumerate(entries):
        if covered >= n_bytes:
            return position
        covered += len(entry_bytes(entry))
    return len(entries)


def _settled(choices: Sequence[Choice]) -> set[str]:
    """Flags that the echo explains."""
    entries = [entry for choice in choices for entry in ((choice.prompt_logprobs or ())[1:] + (choice.logprobs or ()))]
    settled = set() if any(entry.logprob is None for entry in entries) else {"masked_logprob"}
    return settled | (set() if any(choice.content for choice in choices) else {"usage_implausible"})
