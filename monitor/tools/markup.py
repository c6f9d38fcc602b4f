"""Tool calls that a server left in the text: markers of model families, and bare JSON calls of declared tools.

Talking *about* a marker is no call: behind the marker must stand what the family writes there, and code
(`monitor.tools.code_blocks`) does not count. Sources: the chat templates of the families, and vLLM's and SGLang's
parsers.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from monitor.tools.code_blocks import without_code
from monitor.tools.strict_json import read_object, read_strict

_MARKS: Sequence[tuple[str, str]] = (
    ("hermes", r"<tool_call>\s*\{\s*(?:[\"']?\w|\Z)"),
    ("qwen", r"<tool_call>\s*<function=|<function=[\w.\-]+>\s*(?:<parameter=|</function>)"),
    ("glm", r"<tool_call>\s*[\w.\-]+\s*<arg_key>"),
    ("kimi", r"<\|tool_call_begin\|>\s*[\w.\-]+(?::\d|\s*<\|tool_call_argument_begin\|>)"),
    ("mistral", r"\[TOOL_CALLS\]\s*(?:\[\s*\{|\w+\s*(?:\[ARGS\]|\{))"),
    ("llama3", r"<\|python_tag\|>(?:\s*\{\s*\"|[\w.]+\()|<function=[\w.\-]+>\s*\{"),
    ("deepseek", r"<\uff5ctool\u2581call\u2581begin\uff5c>[\w.\-]"),
    ("dsml", r"<\uff5cDSML\uff5c(?:function|tool)_calls>\s*<\uff5cDSML\uff5cinvoke\s+name=[\"']"),
    ("harmony",
     r"<\|channel\|>\s*(?:commentary|analysis)\s+to=[\w.\-]+\s*(?:<\||json|\Z)|to=functions\.[\w.\-]+\s*<\|"),
    ("gemma", r"<\|tool_call\|?>\s*call:[\w.\-]+\s*\{"),
    ("gigachat", r"<\|function_call\|>\s*\{"),
    ("minimax", r"<(?:minimax:)?tool_calls?>\s*(?:<invoke\s+name=[\"']|\{\s*[\"']?\w|\[\s*\{)"),
    ("anthropic", r"<function_calls>\s*<invoke\s+name=[\"']"),
)
_PATTERN = re.compile("|".join(f"(?P<{family}>{pattern})" for family, pattern in _MARKS))

SPECIAL = re.compile(r"<\|[\w/ ]{1,40}\|?>|<\uff5c[^<>\uff5c]{1,40}\uff5c>|</?s>|<(?:eos|bos|end_of_turn)>|\[/?INST\]")
"""Special tokens of chat templates as text."""

_LISTED = re.compile(r"\[\s*[\w.\-]+\([^()]*\)(?:\s*,\s*[\w.\-]+\([^()]*\))*\s*\]")
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
    plain = without_code(content)
    marked = _PATTERN.search(plain)
    if marked is not None:
        form = str(marked.lastgroup)
        return Textual(form, marked.start(), form != "hermes" or _is_block(content[marked.start() :]))
    stripped = plain.strip()
    if not stripped.startswith(("{", "[")):
        return None
    at = plain.index(stripped[0])
    if _is_json_calls(stripped, names):
        return Textual("json", at)
    return Textual("python", at) if _is_list_of_calls(stripped, names) else None


def _is_json_calls(text: str, names: Collection[str]) -> bool:
    """Whether `text` is a JSON call, a list of them, or a call on each of its lines."""
    found = read_strict(text)
    if found.fault is None:
        return _is_call(found.value, names)
    lines = [line for line in text.split("\n") if line.strip()]
    return len(lines) > 1 and all(_is_call(read_strict(line).value, names) for line in lines)


def _is_list_of_calls(text: str, names: Collection[str]) -> bool:
    """Whether `text` is a list of calls as Python writes them, each of a declared tool."""
    if _LISTED.fullmatch(text) is None:
        return False
    return all(name in names for name in re.findall(r"([\w.\-]+)\([^()]*\)", text))


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
    if isinstance(several := value.get("tool_calls"), list):
        return _is_call(several, names)
    inner = value.get("function")
    said = inner if isinstance(inner, dict) else value
    name = said.get("name")
    if not isinstance(name, str) or name not in names or _is_definition(said):
        return False
    return any(isinstance(said.get(key), dict | str) for key in _ARGUMENTS)


def _is_definition(said: Mapping[str, Any]) -> bool:
    """Whether a tool is described and not called: its parameters are a schema."""
    given = said.get("parameters")
    is_schema = isinstance(given, dict) and given.get("type") == "object" and isinstance(given.get("properties"), dict)
    return "arguments" not in said and (is_schema or "description" in said)
