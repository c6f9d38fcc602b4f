"""Every setting of a detector is there for something."""

import ast
import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import monitor.detectors
from monitor.catalogue import scan

DETECTORS = scan(monitor.detectors, "DETECTOR")
JOBS = "\n".join(path.read_text() for path in Path("jobs").rglob("*.py"))


@pytest.mark.parametrize("kind", sorted(DETECTORS))
def test_every_setting_is_read(kind: str) -> None:
    """Oracle: the detector's own methods, beyond the checks of the settings, or a job that asks for it, name it."""
    detector: Any = DETECTORS[kind]
    (body,) = ast.parse(inspect.getsource(detector)).body
    assert isinstance(body, ast.ClassDef)
    methods = [one for one in body.body if isinstance(one, ast.FunctionDef) and one.name != "__post_init__"]
    read = {node.attr for one in methods for node in ast.walk(one) if isinstance(node, ast.Attribute)}
    unread = {field.name for field in fields(detector)} - read
    assert not {name for name in unread if f".{name}" not in JOBS}
