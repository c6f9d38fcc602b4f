"""The command on tool calls: tools."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import AsJson


def register(app: typer.Typer) -> None:
    """Add the command of this file to `app`."""
    app.command()(tools)


def tools(
    folder: Annotated[Path, typer.Argument(help="The folder that --out of probe or audit named.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Sum up kept runs of the probe tools: metrics, K2VV-shaped counts, failures by layer with their bytes."""
    from jobs.tool_report import run  # noqa: PLC0415

    raise typer.Exit(run(folder, as_json=as_json))
