"""The tables of docs/protocols.md, made from the data. ``python -m monitor.wire.dialects.table`` prints them."""

import json
import sys
from collections.abc import Iterator

from monitor.wire.dialects import dialects
from monitor.wire.dispatch import dialects_by_protocol, protocols
from monitor.wire.speaker import SAYABLE, Speaker
from monitor.wire.wording import Wording

_NOTHING = "–"


def tables() -> str:
    """Return the table of protocols and the table of dialects as Markdown."""
    return "\n".join([*_protocol_rows(), "", *_dialect_rows()]) + "\n"


def _protocol_rows() -> Iterator[str]:
    yield "| protocol | path | " + " | ".join(f"`{name}`" for name in SAYABLE) + " |"
    yield "|---" * (len(SAYABLE) + 2) + "|"
    for kind, protocol in sorted(protocols().items()):
        said = [_said(protocol, name) for name in SAYABLE]
        yield f"| `{kind}` | `{protocol.path}` | " + " | ".join(said) + " |"


def _said(protocol: Speaker, name: str) -> str:
    if name == "reasoning_off" and name in protocol.says and protocol.wording.reasoning_off is None:
        return "by dialect"
    return "yes" if name in protocol.says else _NOTHING


def _dialect_rows() -> Iterator[str]:
    yield "| dialect | protocol | cannot say | top-k at most | cap | seed | thinking off | reasoning arrives in | key |"
    yield "|---" * 9 + "|"
    for kind, names in sorted(dialects_by_protocol().items()):
        for name in names:
            yield _row(name, kind, dialects()[name].wordings[kind], protocols()[kind].says)


def _row(name: str, kind: str, words: Wording, says: frozenset[str]) -> str:
    off = json.dumps(words.reasoning_off) if words.reasoning_off and "reasoning_off" in says else None
    cells = [
        _code(name), _code(kind), _code(*sorted(words.cannot)),
        _top_k(words, says), _code(words.cap) + (f" (at least {words.min_cap})" if words.min_cap > 1 else ""),
        _code(words.seed) if "seed" in says - words.cannot else _NOTHING, _code(*([off] if off else [])),
        _code(*words.reasoning_in), _code(words.key_header),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _top_k(words: Wording, says: frozenset[str]) -> str:
    if "top_logprobs" not in says - words.cannot:
        return _NOTHING
    return "no known limit" if words.max_top_logprobs is None else str(words.max_top_logprobs)


def _code(*texts: str) -> str:
    return ", ".join(f"`{text}`" for text in texts) or _NOTHING


if __name__ == "__main__":
    sys.stdout.write(tables())
