"""Which family a model belongs to, and the parse by family."""

import re
from typing import Any

import reference.tool_parsers
from monitor.catalogue import scan
from monitor.errors import UsageError
from reference.tool_parsers.parsed import Format, Parsed, Tools

_THOUGHT = "</think>"
# First match wins: distillations of DeepSeek-R1 write as their base model does, and are named after both.
_NAMES = (
    ("harmony", r"gpt-?oss"),
    ("kimi", r"kimi"),
    ("glm", r"\bglm|chatglm"),
    ("qwen", r"qwen|qwq"),
    ("hermes", r"hermes|smollm"),
    ("llama3", r"llama-?3|llama3"),
    ("mistral", r"mistral|mixtral|magistral|devstral|ministral"),
    ("deepseek", r"deepseek"),
)


def formats() -> dict[str, Format]:
    """Return the formats by family."""
    return scan(reference.tool_parsers, "FORMAT")


def family_of(model: str) -> str | None:
    """Return the family that the name of `model` tells, None when it tells none."""
    return next((family for family, pattern in _NAMES if re.search(pattern, model.lower())), None)


def parse(text: str, family: str, tools: Tools = ()) -> Parsed:
    """Read the tool calls in `text` as a model of `family` writes them. Whatever the text is, nothing is raised.

    Calls inside a thought (up to the last ``</think>``) do not count; thoughts stay in the content.

    Raises
    ------
    UsageError
        When there is no such family.
    """
    known: dict[str, Any] = formats()
    if family not in known:
        raise UsageError(f"tool-call family {family!r} is not one of {', '.join(sorted(known))}")
    thought, mark, said = text.rpartition(_THOUGHT)
    parsed: Parsed = known[family].parse(said, tools)
    return parsed._replace(content=thought + mark + parsed.content)
