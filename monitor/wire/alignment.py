"""Whether logprob entries cover the text that they came with, and what they can be used for."""

from collections.abc import Iterator, Sequence
from itertools import islice

from monitor.types import Choice, TokenLogprob, TopToken
from monitor.wire.alternatives import Alternatives

_REPLACEMENT = (0xEF, 0xBF, 0xBD)


def logprob_flags(choice: Choice, asked: int | None) -> Iterator[str]:
    """Yield conformance flags of the logprobs of `choice`; `asked` is the ``top_logprobs`` of the request, if known.

    ``lp_offset:<k>`` says that the visible text begins at entry k.
    """
    entries = choice.logprobs
    if not entries:
        return
    yield from _value_flags(entries, asked)
    if any(map(_opaque, entries[:-1])) or _opaque(entries[-1], last=True):
        yield "opaque_token"
    elif choice.content:
        yield from _text_flags(entries, choice)


def _value_flags(entries: Sequence[TokenLogprob], asked: int | None) -> Iterator[str]:
    if all(entry.logprob is None for entry in entries):
        yield "no_usable_logprob"
    tops = [entry.top for entry in entries if entry.top]
    if any(map(_is_degenerate, tops)):
        yield "degenerate_distribution"
    if tops and all(len(top) == 1 and top[0].logprob == 0.0 for top in tops):
        yield "truncated_by_sampler"
    if asked is not None and any(len(entry.top) < asked for entry in entries):
        yield "fewer_alternatives"


def _is_degenerate(top: Sequence[TopToken]) -> bool:
    """Whether exactly one alternative can be used; most often the first two settle it."""
    if type(top) is Alternatives:  # all can be used
        return len(top) == 1
    return len(list(islice((other for other in top if other.logprob is not None), 2))) == 1


def _opaque(entry: TokenLogprob, *, last: bool = False) -> bool:
    """Whether the entry's text says nothing: a part of a character without its bytes. A last empty one is the end."""
    raw = entry.bytes
    if raw:
        return raw == _REPLACEMENT
    return "\ufffd" in entry.token if entry.token else not last


def entry_bytes(entry: TokenLogprob | None) -> bytes:
    """The bytes of a token: as reported, else its text."""
    if entry is None:
        return b""
    return bytes(entry.bytes) if entry.bytes is not None else entry.token.encode("utf-8", "replace")


def _text_flags(entries: Sequence[TokenLogprob], choice: Choice) -> Iterator[str]:
    pieces = [entry_bytes(entry) for entry in entries]
    joined, content = b"".join(pieces), choice.content.encode("utf-8", "replace")
    borders = {0: 0}
    end = 0
    for position, piece in enumerate(pieces, 1):
        end += len(piece)
        borders.setdefault(end, position)
    rest = len(pieces) - borders.get(len(content), 0)
    if joined.startswith(content) and len(content) in borders and (rest <= 1 or choice.tool_calls):
        return
    found = joined.find(content)
    if found < 0:
        yield "token_text_mismatch"
        yield "lp_unaligned"
    elif found not in borders or joined.find(content, found + 1) >= 0:
        yield "lp_unaligned"
    elif found:
        yield f"lp_offset:{borders[found]}"
