"""What the names of schemes mean: how weights are stored, what else may be changed, and how a ladder calls engines."""

import re
from collections.abc import Iterator

_SCHEMES = (
    (r"q(?P<n>\d)_[01]\+emb-q(?P<m>\d)_[01]",
     "llama.cpp's {n}-bit blocks of 32 weights, embeddings in its {m}-bit blocks"),
    (r"i?q(?P<n>\d)_[01]", "llama.cpp's {n}-bit format: blocks of 32 weights with a scale each"),
    (r"i?q(?P<n>\d)_(?:k|nl|xxs|xs|s|m)(?:_(?:s|m|l|xl))?", "llama.cpp's {n}-bit format with blocks in blocks of 256"),
    (r"(?:fp|f|float)32", "floating-point numbers of 32 bit"),
    (r"bf16|bfloat16", "floating-point numbers of 16 bit, with the range of 32 bit and 8 bits of precision"),
    (r"(?:fp|f|float)16", "floating-point numbers of 16 bit, with 11 bits of precision"),
    (r"fp8-(?P<by>tensor|channel|block)", "floating-point numbers of 8 bit, a scale for each {by}"),
    (r"fp8(?:-\w+)?", "floating-point numbers of 8 bit"),
    (r"mxfp(?P<n>\d)|nvfp(?P<m>\d)", "floating-point numbers of 4 or 8 bit, small blocks with a scale each"),
    (r"fp4", "floating-point numbers of 4 bit"),
    (r"int(?P<n>\d)-g(?P<m>\d+)", "whole numbers of {n} bit, a scale for each {m} weights"),
    (r"int(?P<n>\d)", "whole numbers of {n} bit, a scale for each output channel"),
    (r"nf4", "4-bit codes spaced like a normal distribution, blocks of 64"),
    (r"awq|gptq", "ways to choose 4-bit whole numbers by what they do to answers"),
    (r"kv-(?P<n>\d)", "weights as they are; keys and values of the cache in {n} bit"),
    (r"rope-x(?P<n>[\d.]+)", "weights as they are; positions turned with {n} times the base"),
    (r"layers-(?P<n>\d+)", "{n} layers in the middle left out"),
    (r"merges-(?P<n>\d+)%", "weights as they are; {n}% of the tokenizer's merges lost"),
    (r"no-system", "weights as they are; the default system prompt left out"),
    (r"other-system", "weights as they are; a hidden system prompt in front"),
    (r"other-template", "weights as they are; another chat template"),
    (r"temperature-(?P<n>[\d.]+)", "weights as they are; temperature {n} in place of what was asked for"),
    (r"top-p-(?P<n>[\d.]+)", "weights as they are; only tokens within {n} of the probability, unasked"),
    (r"top-k-(?P<n>\d+)", "weights as they are; only the {n} likeliest tokens, unasked"),
    (r"repetition-penalty-(?P<n>[\d.]+)", "weights as they are; repetitions made less likely by {n}, unasked"),
    (r"context-(?P<n>\d+)", "weights as they are; only the last {n} tokens of a longer prompt"),
    (r"unbatched", "one request computed at a time"),
    (r"busy", "two requests served at a time"),
    (r"torch", "the engine that computes golden"),
    (r"llama\.cpp", "an engine; faithful with F16, BF16 or F32 files"),
    (r"vllm", "an engine"),
)  # fmt: skip
_MIXED = re.compile(r"(?<![\w.-])(\d+)% ([\w+-]+)")
_KNOWN = tuple(
    (re.compile(rf"(?<![\w.+-])(?:{pattern})(?![\w+]|[-%.]\w)", re.IGNORECASE), text) for pattern, text in _SCHEMES
)


def schemes_in(text: str) -> Iterator[tuple[str, str]]:
    """Every name of a scheme in a text, as it is written there, with what it means; each once."""
    seen: set[str] = set()
    for pattern, meaning in _KNOWN:
        for found in pattern.finditer(text):
            if found.group() not in seen:
                seen.add(found.group())
                yield found.group(), meaning.format(**found.groupdict())
    for name in dict.fromkeys(found.group() for found in _MIXED.finditer(text)):
        mixed = meaning_of(name)
        if mixed is not None:
            yield name, mixed


def meaning_of(name: str) -> str | None:
    """What one name of a scheme means; None when it is not known. ``10% Q4_0`` is a mixture of it with golden."""
    mixed = _MIXED.fullmatch(name)
    if mixed:
        share, scheme = mixed.groups()
        return None if meaning_of(scheme) is None else f"{share}% of the requests answered by {scheme}"
    return next((meaning.format(**found.groupdict()) for pattern, meaning in _KNOWN
                 if (found := pattern.fullmatch(name))), None)  # fmt: skip
