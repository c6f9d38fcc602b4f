"""Commands on captures: decode, replay."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import AsJson, OwnPort


class Format(StrEnum):
    """Formats of capture files."""

    SSE = "sse"
    HTTP = "http"
    READS = "reads"
    TIMED = "timed"
    CAPTURE = "capture"
    HAR = "har"
    CURL = "curl"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    for command in (decode, replay):
        app.command()(command)


def decode(
    file: Annotated[Path, typer.Argument(help="The capture file.")],
    *,
    form: Annotated[Format | None, typer.Option("--format", "-f", help="Default: by suffix, else sse.")] = None,
    explain: Annotated[bool, typer.Option(help="Add the waterfall of phases and what each event said.")] = False,
    index: Annotated[int | None, typer.Option(help="Which entry of a HAR, counted from 0.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Of the answer. Default: told by it, else openai_chat.")] = None,
    as_json: AsJson = False,
) -> None:
    """Decode a capture file into its exchange record, offline; exit 1 when it holds no complete answer."""
    from jobs.decode import run  # noqa: PLC0415

    given = form.value if form else _by_suffix(file)
    code = run(file, given, as_json=as_json, out=sys.stdout, explain=explain, index=index, protocol=protocol)
    raise typer.Exit(code)


def _by_suffix(file: Path) -> str:
    """Format that the file's name tells, else the bytes of an event stream."""
    suffix = file.suffix[1:]
    return suffix if suffix in set(Format) else Format.SSE.value


def replay(
    path: Annotated[Path, typer.Argument(help="A capture or timed script, or a folder of them (served in turn).")],
    *,
    port: OwnPort = 0,
    form: Annotated[Format | None, typer.Option("--format", "-f", help="Of the files; default: by suffix.")] = None,
) -> None:
    """Serve captures or timed scripts as an endpoint, until Ctrl-C."""
    from jobs.replay import serve  # noqa: PLC0415

    raise typer.Exit(serve(path, port, sys.stdout, format=form.value if form else None))
