"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="The configuration file.")]
OutFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder for the evidence.")]
StoreUrl = Annotated[str | None, typer.Option(help="Address of the store; default: store.listen of the file.")]

Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port instead of the one in the file; 0 takes a free one.")
]
OwnPort = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0 takes a free one.")]

CONFIG = Path("weighmaster.yaml")
OUT = Path("weighmaster-out")


def home() -> Path:
    """Folder of golden weights, lab files and demo data."""
    from jobs.golden import default_home  # noqa: PLC0415

    return default_home(os.environ)
