"""Tool calls that a server left in the text: markers of model families, and bare JSON calls of declared tools.

Talking *about* a marker is no call: behind the marker must stand what the family writes there, and code (fenced or
between backticks) does not count. Sources: the chat templates of the families, and vLLM's and SGLang's parsers.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from monitor.tools.strict_json import read_object, read_strict

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)

_MARKS: Sequence[tuple[str, str]] = (
    ("hermes", r"<tool_call>\s*\{"),
    ("qwen", r"<tool_call>\s*<function=|<function=[\w.\-]+>\s*(?:<parameter=|</function>)"),
    ("glm", r"<tool_call>\s*[\w.\-]+\s*<arg_key>"),
    ("kimi", r"<\|tool_calls_section_begin\|>|<\|tool_call_begin\|>\s*[\w.\-]+:\d+"),
    ("mistral", r"\[TOOL_CALLS\]\s*(?:\[|\w+\s*(?:\[ARGS\]|\{))"),
    ("llama3", r"<\|python_tag\|>\s*[\w.\-{]|<function=[\w.\-]+>\s*\{"),
    ("deepseek", r"<\uff5ctool\u2581calls?\u2581begin\uff5c>"),
    ("harmony", r"<\|channel\|>\s*(?:commentary|analysis)\s+to=|to=functions\.[\w.\-]+\s*<\|"),
    ("gemma", r"<\|tool_call\|?>\s*call:[\w.\-]+"),
    ("gigachat", r"<\|function_call\|>\s*\{"),
    ("minimax", r"<(?:minimax:)?tool_calls?>\s*(?:<invoke\s|\{)"),
    ("anthropic", r"<function_calls>\s*<invoke\s"),
)
_PATTERN = re.compile("|".join(f"(?P<{family}>{pattern})" for family, pattern in _MARKS))

SPECIAL = re.compile(r"<\|[\w/ ]{1,40}\|?>|<\uff5c[^<>\uff5c]{1,40}\uff5c>|</?s>|<(?:eos|bos|end_of_turn)>|\[/?INST\]")
"""Special tokens of chat templates as text."""

_ARGUMENTS = ("arguments", "parameters")


class Textual(NamedTuple):
    """A call in text: how it is written (a family, or ``json``), and where it begins.

    ``readable`` is False where the model itself wrote a call that no parser can read; families whose calls are no JSON
    get the benefit of the doubt.
    """

    form: str
    at: int
    readable: bool = True


def call_in_text(content: str, names: Collection[str]) -> Textual | None:
    """Return the first call in `content` that a parser should have taken out, None without.

    A bare JSON call counts only when it is the whole text and names one of the declared tools `names`.
    """
    plain = _CODE.sub(lambda code: " " * len(code[0]), content)
    marked = _PATTERN.search(plain)
    if marked is not None:
        form = str(marked.lastgroup)
        return Textual(form, marked.start(), form != "hermes" or _is_block(content[marked.start() :]))
    stripped = plain.strip()
    if stripped.startswith(("{", "[")) and _is_call(read_strict(stripped).value, names):
        return Textual("json", plain.index(stripped[0]))
    return None


def _is_block(text: str) -> bool:
    """Whether `text` begins with a block ``<tool_call>`` that holds one JSON object with a name, and ends."""
    inside, end, _ = text.partition("</tool_call>")
    found = read_object(inside.removeprefix("<tool_call>"))
    return bool(end) and found.fault is None and isinstance(found.value.get("name"), str)


def _is_call(value: Any, names: Collection[str]) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, dict) and _is_call(one, names) for one in value)
    if not isinstance(value, dict):
        return False
    inner = value.get("function")
    said = inner if isinstance(inner, dict) else value
    return said.get("name") in names and any(isinstance(said.get(key), dict | str) for key in _ARGUMENTS)
