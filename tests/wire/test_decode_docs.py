"""docs/decode.md names every flag, field, format and outcome. Oracles: the source text, and what the corpus raises."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from monitor.types import Choice, Exchange, Outcome
from monitor.wire.dispatch import decode
from monitor.wire.files import FORMATS, load
from monitor.wire.record import record
from tests.wire.golden import Case, cases

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "decode.md").read_text("utf-8")
SECTION = PAGE.partition("\n## Flags\n")[2].partition("\n## ")[0]
FLAGS = set(re.findall(r"^\| `([a-z0-9_]+)(?::[^`]*)?` \|", SECTION, re.MULTILINE))
FILES = sorted((ROOT / "monitor" / "wire").rglob("*.py"))


def texts(node: ast.AST) -> Iterator[str]:
    """String constants of an expression, those in lists and behind names among them; of an f-string its beginning."""
    if isinstance(node, ast.Name):
        yield from CONSTANTS.get(node.id, ())
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from (text for item in node.elts for text in texts(item))
    elif isinstance(node, ast.ListComp):
        yield from texts(node.elt)
    elif isinstance(node, ast.JoinedStr):
        yield from texts(node.values[0])
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)


def is_flags(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id == "flags") or (
        isinstance(node, ast.Attribute) and node.attr == "flags"
    )


def raised(tree: ast.Module) -> Iterator[str]:
    """All ways in which the package sets a flag.

    ``flags[...] = None``, ``flags.append(...)``, ``flags = [...]``, ``f(flags=(...))``, ``Split(..., flag)``, values of
    a ``..._FLAGS``, the list beside a returned value, and what functions called ``..._flags`` yield.
    """
    for node in ast.walk(tree):
        yield from values(node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and is_flags(node.value):
            yield from texts(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_flags(node.func.value):
            yield from (text for argument in node.args for text in texts(argument))
        elif isinstance(node, ast.FunctionDef) and node.name.endswith("_flags"):
            yields = (
                inner.value for inner in ast.walk(node) if isinstance(inner, ast.Yield) and inner.value is not None
            )
            yield from (text for value in yields for text in texts(value))


def values(node: ast.AST) -> Iterator[str]:
    """Flags that are values, not keys."""
    if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
        if target.id == "flags":
            yield from texts(node.value)
        elif target.id.endswith("_FLAGS") and isinstance(node.value, ast.Dict):
            yield from (text for value in node.value.values for text in texts(value))
    elif isinstance(node, ast.Call):
        yield from (text for word in node.keywords if word.arg in {"flags", "flag"} for text in texts(word.value))
        if isinstance(node.func, ast.Name) and node.func.id == "Split":
            yield from texts(node.args[3])
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
        yield from texts(node.value.elts[-1]) if isinstance(node.value.elts[-1], ast.Tuple) else ()


def constants() -> dict[str, tuple[str, ...]]:
    """Module constants of the package that are texts."""
    found: dict[str, tuple[str, ...]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
                value = node.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[node.targets[0].id] = (value.value,)
    return found


CONSTANTS = constants()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_flag_in_the_source_has_its_line(path: Path) -> None:
    found = {text.partition(":")[0] for text in raised(ast.parse(path.read_text("utf-8")))}
    assert found <= FLAGS


def test_the_search_does_find_flags() -> None:
    source = (
        'flags["a"] = None\nx.flags[f"b:{y}"] = None\ndef c_flags():\n    yield "d" if e else "f"\nflags.append("g")'
    )
    assert set(raised(ast.parse(source))) == {"a", "b:", "d", "f", "g"}
    more = (
        'flags = [f"h:{x}" for x in y]\nreplace(e, flags=(*e.flags, "i"))\nSplit(1, 2, 3, "j")\nQ_FLAGS = {"k": "l"}\n'
        'def m():\n    return v, ("n",)\nflags[FIRST_UNKNOWN] = None'
    )
    assert set(raised(ast.parse(more))) == {"h:", "i", "j", "l", "n", "first_event_tokens_unknown"}


@pytest.mark.parametrize("case", cases())
def test_every_flag_that_the_corpus_raises_has_its_line(case: Case) -> None:
    assert {flag.partition(":")[0] for flag in decode(load(case.data, case.format)).flags} <= FLAGS


def test_fields_formats_and_outcomes() -> None:
    names = [field.name for field in (*fields(Exchange), *fields(Choice))] + list(record(Exchange(outcome="ok")))
    internal = {"exchange_id", "run_id", "request", "index"}
    for name in (*(set(names) - internal), *FORMATS, *get_args(Outcome)):
        assert f"`{name}`" in PAGE, name


def test_no_line_is_about_a_flag_that_is_gone() -> None:
    source = "".join(path.read_text("utf-8") for path in FILES)
    assert not {flag for flag in FLAGS if f'"{flag}' not in source and f"'{flag}" not in source}
