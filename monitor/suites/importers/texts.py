"""Reading foreign files: JSON lines, JSON lists, YAML with tags that are not ours, and templates of plain names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import yaml

from monitor.errors import UsageError

_PLAIN = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*-?\}\}")
_ANY = re.compile(r"\{\{|\{%|\{#")


class TemplateError(ValueError):
    """A template does more than fill names in, or names what is not there."""


def objects(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of JSON lines, or of one JSON list, with their places.

    Raises
    ------
    UsageError
        For the first line that is no JSON object.
    """
    return list(_objects(text))


def first_object(text: str) -> dict[str, Any]:
    """Return the first object of `text`, empty where there is none."""
    try:
        return next((one for _, one in _objects(text)), {})
    except UsageError:
        return {}


def _objects(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        try:
            listed = orjson.loads(text.lstrip("\ufeff"))
        except orjson.JSONDecodeError as error:
            raise UsageError(f"not JSON: {error}") from None
        rows: Any = ((f"[{at}]", one) for at, one in enumerate(listed))
    else:
        rows = _lines(text)
    for place, row in rows:
        if not isinstance(row, dict):
            raise UsageError(f"{place}: not a JSON object")
        yield place, row


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), start=1):
        if line.strip():
            try:
                yield f"line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise UsageError(f"line {number}: not JSON: {error}") from None


class _Loader(yaml.SafeLoader):
    """Reads tags of others as texts that say what they are; nothing is looked up or called."""


def _marked(_loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> str:
    value = node.value if isinstance(node, yaml.ScalarNode) else type(node).__name__
    return f"!{tag} {value}"


_Loader.add_multi_constructor("!", _marked)


def document(text: str) -> dict[str, Any]:
    """Return the mapping that a YAML (or JSON) text is; empty where it is something else or not readable."""
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            return {}
        found = yaml.load(text, _Loader)  # noqa: S506  # a SafeLoader, with tags read as texts
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Fill plain ``{{ name }}`` in.

    Raises
    ------
    TemplateError
        When the template does anything else, or a name is not in `values` or is no text or number.
    """

    def value(match: re.Match[str]) -> str:
        found: Any = values
        for part in match[1].split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise TemplateError(f"template variable that is no text: {match[1]}")
        return str(found)

    if _ANY.search(_PLAIN.sub("", template)):
        raise TemplateError("template with more than plain names")
    return _PLAIN.sub(value, template)
