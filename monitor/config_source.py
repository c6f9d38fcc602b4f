"""Text of the configuration file to plain values, keeping where each stands and how it was written.

YAML guesses types (``no`` is False, ``4.10`` is 4.1, ``012`` is 10), so the text as written is kept beside each
value. ``${NAME}`` is replaced after parsing, inside strings only: what a variable holds can never become structure.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from monitor.config_yaml import Composed, compose
from monitor.errors import ConfigError, Problem

Path = tuple[str | int, ...]
"""Keys and list positions from the top of the file."""

_SECRET_KEY = re.compile(r"(?i)api_?key|token$|secret|passw|auth|credential")
_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*|file:[^{}\s$]+)\}|\$\{")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,17})")
_EXPONENT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+")
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A mistake before it is shown: path, what is wrong, what to write instead."""

    path: Path
    message: str
    suggestion: str | None = None
    aside: bool = False


@dataclass(slots=True)
class Document:
    """The file as plain values.

    ``texts`` are scalars as written, ``lines`` where keys and entries stand (from 1), ``spoiled`` the places whose
    value is already known to be unusable, ``filled`` those where a variable was filled in,
    ``unset`` keys of endpoints without a value, and why.
    """

    source: str
    value: Any = None
    texts: dict[Path, str] = field(default_factory=dict)
    lines: dict[Path, int] = field(default_factory=dict)
    spoiled: set[Path] = field(default_factory=set)
    filled: set[Path] = field(default_factory=set)
    unset: dict[Path, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def at(self, path: Path) -> Any:
        """Value at `path`, or None when there is none."""
        value = self.value
        for part in path:
            if isinstance(value, dict):
                value = value.get(str(part))
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return None
        return value

    def named(self, path: Path) -> list[tuple[str, dict[str, Any]]]:
        """Those values of the mapping at `path` that are mappings; nothing where it is none (its section says so)."""
        section = self.at(path)
        entries = section.items() if isinstance(section, dict) else ()
        return [(name, value) for name, value in entries if isinstance(value, dict)]

    def listed(self, path: Path) -> list[tuple[int, dict[str, Any]]]:
        """Those entries of the list at `path` that are mappings; nothing where it is none (its section says so)."""
        section = self.at(path)
        entries = section if isinstance(section, list) else []
        return [(at, value) for at, value in enumerate(entries) if isinstance(value, dict)]

    def line(self, path: Path) -> int | None:
        """Line of `path`, else of the nearest place around it that stands in the file."""
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), None)

    def quoted(self, path: Path) -> str | None:
        """The scalar at `path` as written, in quotes and shortened; None when there is none or it may be a secret."""
        text = self.texts.get(path)
        if text is None or _is_secret(path):
            return None
        clean = "".join(char if char.isprintable() else "?" for char in text)
        return f'"{clean[:60]}"' if len(clean) <= 60 else f'"{clean[:60]}..."'

    def foreign(self, path: Path, message: str) -> str:
        """A message that this loader did not write, unless a variable's value at or below `path` may be in it."""
        withheld = any(place[: len(path)] == path for place in self.filled)
        return "is refused (the reason may show what a variable holds)" if withheld else message

    def problem(self, finding: Finding) -> Problem:
        """The mistake as it is shown, with its line."""
        line = self.line(finding.path)
        place = f" (line {line})" if line is not None else ""
        path = path_text(finding.path) or self.source
        return Problem(
            path=path, message=finding.message + place, suggestion=finding.suggestion, aside=finding.aside
        )  # fmt: skip


def path_text(path: Path) -> str:
    """Return `path` as people write it: ``endpoints[1].model``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w/:@+-]+", part):
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return text


def read_document(text: str, environ: Mapping[str, str], source: str) -> Document:
    """Return the values of a YAML text with `environ` filled in; mistakes found on the way are in it.

    Raises
    ------
    ConfigError
        When the text is not YAML at all.
    """
    try:
        composed = compose(text)
    except yaml.YAMLError as error:
        raise ConfigError((Problem(path=source, message=_syntax(error, text)),)) from None
    except RecursionError:
        raise ConfigError((Problem(path=source, message="is nested too deeply"),)) from None
    document = Document(source)
    if composed.node is None:
        document.value = {}
    else:
        document.value = _Reader(document, environ, composed).read(composed.node, ())
    return document


def _syntax(error: yaml.YAMLError, text: str) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, int(error.position)) + 1
        return f"is not valid YAML: a character that is not allowed (line {line})"
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "cannot be read"
    what = re.sub(r"'[^'<]{3,}'|\"[^\"<]{3,}\"", "...", problem)  # it may quote the file, and so a secret
    place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"is not valid YAML: {what}{place}"


def _is_secret(path: Path) -> bool:
    return any(isinstance(part, str) and _SECRET_KEY.search(part) for part in path[-2:])


class _Reader:
    """Walks the YAML nodes; writes what it finds into the document."""

    def __init__(self, document: Document, environ: Mapping[str, str], composed: Composed) -> None:
        self._document = document
        self._environ = environ
        self._composed = composed
        self._seen: set[int] = set()

    def read(self, node: yaml.Node, path: Path) -> Any:
        """Return the plain value of `node`."""
        self._document.lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in self._seen:
            return self._spoil(path, "YAML aliases are not supported", "write the value out")
        self._seen.add(id(node))
        if id(node) in self._composed.tagged:
            return self._spoil(path, "YAML tags are not supported", "remove the tag")
        if id(node) in self._composed.anchored:
            self._report(path, "YAML anchors are not supported", "remove it, nothing refers to it")
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        return self._spoil(path, "YAML tags are not supported", "remove the tag")

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._report(path, f"a key on line {line} is not text")
                continue
            if id(key_node) in self._composed.tagged | self._composed.anchored:
                self._report(path, f"a key on line {line} has a YAML tag or anchor", "write the key alone")
            if key_node.tag == f"{_TAG}merge":
                self._document.lines[(*path, "<<")] = line
                self._report((*path, "<<"), "YAML merge keys are not supported", "write the keys out")
                continue
            key = str(key_node.value)
            if key in values:
                first = self._document.lines[(*path, key)]
                self._report((*path, key), f"is written twice, again on line {line}", f"keep one; line {first} counts")
                continue
            self._document.lines[(*path, key)] = line
            values[key] = self.read(value_node, (*path, key))
        return values

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        text = str(node.value)
        self._document.texts[path] = text
        if path and path[-1] in {"api_key", "token"} and text.strip() and node.tag != f"{_TAG}null":
            return self._secret(text, path)
        tag = node.tag.removeprefix(_TAG)
        if tag == "null":
            return None
        if tag == "bool":
            return text.lower() in {"yes", "true", "on"}
        if tag in {"int", "float"} or (tag == "str" and node.style is None and _EXPONENT.fullmatch(text)):
            return self._number(text, path, whole=tag == "int")
        if tag in {"str", "timestamp", "value", "merge"}:
            return self._expand(text, path)
        return self._spoil(path, "YAML tags are not supported", "remove the tag")

    def _number(self, text: str, path: Path, *, whole: bool) -> Any:
        try:
            number = int(text) if whole and _DECIMAL.fullmatch(text) else float("nan" if whole else text)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
        quoted = self._document.quoted(path)
        hint = f"; if it is text, write it in quotes: {quoted}" if quoted else ""
        return self._spoil(path, "is not a plain decimal number", f"write digits only{hint}")

    def _secret(self, text: str, path: Path) -> Any:
        match = _VARIABLE.fullmatch(text.strip())
        if match is None or match[1] is None:
            return self._spoil(path, "is a secret in clear text", "write ${NAME} and set NAME in the environment")
        if path[0] != "endpoints":
            return self._expand(text.strip(), path)
        why_not = self._without(match[1])
        if why_not:
            # A mistake of this endpoint alone: the others are measured (case OP-08).
            self._document.unset[path] = why_not
            return None
        return self._expand(text.strip(), path)

    def _without(self, name: str) -> str | None:
        """Why the variable or file `name` cannot be filled in."""
        if self._environ.get(name, "").strip():
            return None
        in_file = name.startswith("file:")
        what = f"the file {name.removeprefix('file:')}" if in_file else f"the environment variable {name}"
        missing = "cannot be read" if in_file else "is not set"
        return f"{what} {'is empty' if name in self._environ else missing}"

    def _expand(self, text: str, path: Path) -> Any:
        complaints: list[str] = []

        def fill(match: re.Match[str]) -> str:
            if match[0] == "$$":
                return "$"
            name = match[1]
            if name is None:
                complaints.append("has a ${ that is not ${NAME}; write $$ for a plain $")
                return ""
            why_not = self._without(name)
            if why_not:
                complaints.append(why_not)
            self._document.filled.add(path)
            return self._environ.get(name, "").strip()  # a line break at the end of a key makes an illegal header

        expanded = _VARIABLE.sub(fill, text)
        if complaints:
            return self._spoil(path, "; ".join(complaints))
        if any("\ud800" <= char <= "\udfff" for char in expanded):
            return self._spoil(path, "contains a character that is not valid Unicode")
        return expanded

    def _report(self, path: Path, message: str, suggestion: str | None = None) -> None:
        self._document.findings.append(Finding(path=path, message=message, suggestion=suggestion))

    def _spoil(self, path: Path, message: str, suggestion: str | None = None) -> None:
        self._document.spoiled.add(path)
        self._report(path, message, suggestion)
