"""The command line. Bodies of commands import what they need, so that ``--help`` loads nothing heavy.

Exit codes: 0 fine, 1 a measured failure, 2 usage or configuration, 3 could not be measured.
"""

import sys

import typer

from jobs.commands import files, golden, measure, service
from monitor.errors import WeighmasterError


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
    for group in (measure, service, files, golden):
        group.register(app)
    return app


def main() -> None:
    """Run the command line; errors that a user can act on become one message and an exit code."""
    try:
        build()()
    except WeighmasterError as error:
        typer.echo(f"weighmaster: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
