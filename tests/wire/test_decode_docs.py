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
    """String constants of an expression; of an f-string its beginning."""
    if isinstance(node, ast.JoinedStr):
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
    """``flags[...] = None``, ``flags.append(...)``, and what functions called ``..._flags`` yield."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and is_flags(node.value):
            yield from texts(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_flags(node.func.value):
            yield from (text for argument in node.args for text in texts(argument))
        elif isinstance(node, ast.FunctionDef) and node.name.endswith("_flags"):
            yields = (
                inner.value for inner in ast.walk(node) if isinstance(inner, ast.Yield) and inner.value is not None
            )
            yield from (text for value in yields for text in texts(value))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_flag_in_the_source_has_its_line(path: Path) -> None:
    found = {text.partition(":")[0] for text in raised(ast.parse(path.read_text("utf-8")))}
    assert found <= FLAGS


def test_the_search_does_find_flags() -> None:
    source = (
        'flags["a"] = None\nx.flags[f"b:{y}"] = None\ndef c_flags():\n    yield "d" if e else "f"\nflags.append("g")'
    )
    assert set(raised(ast.parse(source))) == {"a", "b:", "d", "f", "g"}


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
