"""The house rules that a machine can check (DESIGN section 8)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("monitor", "probes", "reference", "storage", "dashboard", "jobs")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Length of a function without its docstring."""
    first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or node.lineno) - first.lineno + 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 300, "files have at most 300 lines"
    assert path.stem not in {"utils", "common", "helpers", "base", "misc"}, "a module is named after what it is about"
    too_long = [node.name for node in functions(path) if code_lines(node) > 50]
    assert not too_long, "functions have at most 50 lines"


def test_only_jobs_and_the_dashboards_entry_read_the_environment() -> None:
    readers = {
        path.relative_to(ROOT).as_posix() for path in FILES if "os.environ" in path.read_text(encoding="utf-8")
    }
    assert {reader for reader in readers if not reader.startswith("jobs/")} <= {"dashboard/app.py"}


def test_no_module_is_named_like_a_top_level_package() -> None:
    clash = [path for path in FILES if path.stem in PACKAGES and path.parent.parent != ROOT]
    assert not clash
