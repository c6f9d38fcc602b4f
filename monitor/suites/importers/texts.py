"""Reading foreign files: JSON lines, JSON lists, YAML with tags that are not ours, and templates of plain names."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import yaml

from monitor.errors import UsageError
from monitor.suites.reading import MAX_DEPTH, load_yaml, too_deep

_PLAIN = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*-?\}\}")
_ANY = re.compile(r"\{\{|\{%|\{#")


class UnfitError(ValueError):
    """A row, or a part of it, that cannot be taken over. The words say what it is, and can be counted."""


def objects(text: str, left: Callable[[str, str], None]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of JSON lines, or of one JSON list, with their places; `left` is told of what is none.

    Raises
    ------
    UsageError
        For a list that is not JSON.
    """
    for place, row in _rows(text):
        if isinstance(row, orjson.JSONDecodeError):
            left(place, "line that is not JSON")
        elif too_deep(row):
            left(place, f"row nested more than {MAX_DEPTH} deep")
        elif not isinstance(row, dict):
            left(place, "row that is no JSON object")
        else:
            yield place, row


def first_object(text: str) -> dict[str, Any]:
    """Return the first object of `text`, empty where there is none."""
    try:
        return next((one for _, one in objects(text, lambda _place, _what: None)), {})
    except UsageError:
        return {}


def _rows(text: str) -> Iterator[tuple[str, Any]]:
    """All rows, of whatever kind; the error of a line that is not JSON stands in its place."""
    plain = text.removeprefix("\ufeff")
    if plain.lstrip().startswith("["):
        try:
            listed = orjson.loads(plain)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"not JSON: {error}") from None
        yield from ((f"[{at}]", one) for at, one in enumerate(listed))
        return
    for number, line in enumerate(plain.split("\n"), start=1):
        if line.strip():
            try:
                yield f"line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                yield f"line {number}", error


class _Loader(yaml.SafeLoader):
    """Reads tags of others as texts that say what they are; nothing is looked up or called."""


def _marked(_loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> str:
    value = node.value if isinstance(node, yaml.ScalarNode) else type(node).__name__
    return f"!{tag} {value}"


_Loader.add_multi_constructor("!", _marked)


def document(text: str) -> dict[str, Any]:
    """Return the mapping that a YAML (or JSON) text is.

    Raises
    ------
    UsageError
        When it is something else, or not readable.
    """
    found = load_yaml(text.removeprefix("\ufeff"), "document", _Loader)
    if not isinstance(found, dict):
        raise UsageError("document: is no mapping of keys")
    return found


def keys_of(text: str) -> frozenset[str]:
    """Return the keys of the mapping that a YAML text is; none where it is something else or not readable."""
    try:
        return frozenset(document(text))
    except UsageError:
        return frozenset()


def id_of(row: Mapping[str, Any], *keys: str) -> dict[str, str]:
    """Return the first of `keys` that `row` has, as the ``id`` of a case; nothing where it has none.

    Raises
    ------
    UnfitError
        When it is no text or number.
    """
    given = next((row[key] for key in keys if row.get(key) is not None), None)
    return {} if given is None else {"id": worded(given, "id")}


def worded(value: Any, what: str) -> str:
    """Return a text or number as text. Raises UnfitError for anything else; `what` names it."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnfitError(f"{what} that is no text or number")
    return str(value)


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return an object, empty for null. Raises UnfitError for anything else; `what` names it."""
    if value is not None and not isinstance(value, dict):
        raise UnfitError(f"{what}: no object")
    return value or {}


def listing(value: Any, what: str) -> list[Any]:
    """Return a list, empty for null. Raises UnfitError for anything else; `what` names it."""
    if value is not None and not isinstance(value, list):
        raise UnfitError(f"{what}: no list")
    return value or []


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Fill plain ``{{ name }}`` in.

    Raises
    ------
    UnfitError
        When the template does anything else, or a name is not in `values` or is no text or number.
    """

    def value(match: re.Match[str]) -> str:
        found: Any = values
        for part in match[1].split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise UnfitError(f"template variable that is no text: {match[1]}")
        return str(found)

    if _ANY.search(_PLAIN.sub("", template)):
        raise UnfitError("template with more than plain names")
    return _PLAIN.sub(value, template)
