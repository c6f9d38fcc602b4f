"""Writes the generated pages of the documentation: ``python -m jobs.docs_pages``. A test checks that they are fresh."""

import ast
import dataclasses
import importlib
import inspect
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

import monitor.detectors
import probes
from monitor.catalogue import scan

PAGE = Path(__file__).parents[1] / "docs" / "probes-and-detectors.md"


def page() -> str:
    """The page on probes and detectors, out of their docstrings, metric cards and fields."""
    parts = [
        "# Probes and detectors",
        "This page is generated from the source (`python -m jobs.docs_pages`). Probes measure, detectors judge.",
        "## Probes",
        *(_section(kind, thing) for kind, thing in scan(probes, "PROBE").items()),
        "## Detectors",
        *(_section(kind, thing) for kind, thing in scan(monitor.detectors, "DETECTOR").items()),
    ]
    return "\n\n".join(parts) + "\n"


def _section(kind: str, thing: Any) -> str:
    module = importlib.import_module(thing.__module__)
    about = inspect.cleandoc(module.__doc__ or "")
    question, _, rest = about.partition("\n\n")
    lines = [f"### `{kind}`", f"*{question}*", rest.replace("\n", "\n"), _metrics(thing), _fields(thing)]
    return "\n\n".join(line for line in lines if line)


def _metrics(thing: Any) -> str:
    rows = [
        f"| `{metric.name}` | {metric.unit} | {metric.better} | {metric.definition.replace('|', chr(92) + '|')} |"
        for metric in thing.metrics
    ]
    return "\n".join(["| metric | unit | better | definition |", "|---|---|---|---|", *rows])


def _fields(thing: Any) -> str:
    described = _field_docs(thing)
    rows = [
        f"| `{field.name}` | `{_default(field)}` | {described.get(field.name, '')} |"
        for field in dataclasses.fields(thing)
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows]) if rows else ""


def _default(field: "dataclasses.Field[Any]") -> Any:
    """The default as it is written; a made one would stand there with its address, another one at every call."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _field_docs(thing: Any) -> dict[str, str]:
    """The first paragraph of the string under each field of the class, by field name."""
    body = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    found: dict[str, str] = {}
    for field, following in pairwise(body.body if isinstance(body, ast.ClassDef) else ()):
        match field, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.partition("\n\n")[0].split())
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
