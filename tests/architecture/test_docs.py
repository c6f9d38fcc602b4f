"""The documentation names what there is: commands, probes, detectors and metrics."""

import dataclasses
import importlib
from pathlib import Path

import pytest
import typer

import monitor.detectors
import probes
from jobs.cli import build
from monitor.catalogue import scan

ROOT = Path(__file__).parents[2]
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
THINGS = {**scan(probes, "PROBE"), **scan(monitor.detectors, "DETECTOR")}


def commands() -> list[str]:
    group = typer.main.get_command(build())
    names: list[str] = []
    for name, command in group.commands.items():  # type: ignore[attr-defined]  # a group has commands
        inner = getattr(command, "commands", None)
        names.extend([f"{name} {sub}" for sub in inner] if inner else [name])
    return names


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented(command: str) -> None:
    assert f"`weighmaster {command}" in DOCS["commands.md"]


@pytest.mark.parametrize("kind", THINGS)
def test_every_probe_and_detector_and_its_metrics_and_fields_are_documented(kind: str) -> None:
    thing = THINGS[kind]
    page = DOCS["probes-and-detectors.md"]
    assert f"`{kind}`" in page
    for metric in thing.metrics:
        assert f"`{metric.name}`" in page
    for field in dataclasses.fields(thing):
        assert f"`{field.name}`" in page
    assert importlib.import_module(thing.__module__).__doc__


def test_readme_commands_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert f"\n{target}:" in makefile
