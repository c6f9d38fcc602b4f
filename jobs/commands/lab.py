"""Commands of the lab: its endpoints, and faults in front of any endpoint."""

import sys
from typing import Annotated

import typer

from jobs.commands.options import OwnPort, home


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(lab)
    group.command()(faults)
    app.add_typer(group, name="lab")


def lab(context: typer.Context) -> None:
    """Start the four lab endpoints and print their addresses, until Ctrl-C."""
    if context.invoked_subcommand is None:
        from jobs.demo_service import run_lab  # noqa: PLC0415

        raise typer.Exit(run_lab(home()))


def faults(
    url: Annotated[str, typer.Argument(help="Base address of a real endpoint, such as http://127.0.0.1:8000/v1.")],
    *,
    fault: Annotated[str, typer.Option(help="Name of the fault, as in docs/faults.md.")],
    rate: Annotated[float, typer.Option(min=0, max=1, help="Share of the answers that get it.")] = 1.0,
    seed: Annotated[int, typer.Option(help="What the choice of answers follows from.")] = 0,
    port: OwnPort = 0,
) -> None:
    """Put a fault of the catalogue in front of an endpoint, at any rate, until Ctrl-C.

    Prints the address to ask instead. Keys are passed on as they come and kept nowhere.
    """
    from jobs.lab_faults.serve import serve  # noqa: PLC0415

    raise typer.Exit(serve(url, fault, rate=rate, seed=seed, port=port, out=sys.stdout, log=sys.stderr))
