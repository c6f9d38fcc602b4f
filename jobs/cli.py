"""The command line. Bodies of commands import what they need, so that ``--help`` loads nothing heavy.

Exit codes: 0 fine, 1 a measured failure, 2 usage or configuration, 3 could not be measured, 130 interrupted.
"""

import sys
from typing import Annotated

import typer

from jobs.commands import alerts, database, files, golden, lab, measure, packs, report, service, suite, tools, traffic
from monitor.errors import ConfigError, WeighmasterError


def _show_version(value: bool) -> None:  # as typer calls it
    if value:
        from jobs.version import version  # noqa: PLC0415

        typer.echo(f"weighmaster {version()}")
        raise typer.Exit


def build() -> typer.Typer:
    """Assemble the command line."""
    app = typer.Typer(
        name="weighmaster",
        help="Certifies that an LLM endpoint serves the weights, tokenizer, template and sampler it says it serves.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for group in (measure, tools, service, files, lab, database, golden, packs, traffic, alerts, report, suite):
        group.register(app)
    return app


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Hold what comes before the name of a command."""


def main() -> None:
    """Run the command line; errors that a user can act on become one message and an exit code."""
    try:
        build()()
    except ConfigError as error:
        typer.echo(f"weighmaster: {_counted(error)} in {error.source}:\n{error}", err=True)
        sys.exit(error.exit_code)
    except WeighmasterError as error:
        typer.echo(f"weighmaster: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        # A file, folder or port that the user named: what the system says about it is the message.
        typer.echo(f"weighmaster: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("weighmaster: interrupted", err=True)
        sys.exit(130)


def _counted(error: ConfigError) -> str:
    n_aside = sum(one.aside for one in error.problems)
    n = len(error.problems) - n_aside
    beside = f" and {n_aside} key{'s' if n_aside > 1 else ''} without a value" if n_aside else ""
    return f"{n} mistake{'s' if n > 1 else ''}{beside}"


if __name__ == "__main__":
    main()
