"""Commands on recorded golden answers, and scoring by hand: reference pack, pack-inspect, score."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import AsJson, home

Folder = Annotated[Path | None, typer.Option(help="Golden folder; default: the one that build makes.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the group ``reference`` of `app`."""
    group = next(found.typer_instance for found in app.registered_groups if found.name == "reference")
    assert group is not None  # noqa: S101  # jobs.commands.golden made it
    group.command()(pack)
    group.command(name="pack-inspect")(inspect)
    group.command()(score)


def pack(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    folder: Folder = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    top_k: Annotated[int, typer.Option(help="Most likely tokens recorded at each position.", min=1)] = 512,
    samples: Annotated[int, typer.Option(help="Answers drawn to each prompt at temperature 1.", min=0)] = 0,
    sample_tokens: Annotated[int, typer.Option(help="Longest of them, tokens.", min=1)] = 64,
    variants: Annotated[str, typer.Option(help="Variants whose deviations to predict: all, none, or names.")] = "none",
    as_json: AsJson = False,
) -> None:
    """Record the golden answers to the logprobs probe in one file, so that others can check without the weights."""
    import orjson  # noqa: PLC0415

    from jobs.golden import ensure_golden  # noqa: PLC0415
    from jobs.pack import make  # noqa: PLC0415

    def report(line: str) -> None:
        typer.echo(line, err=True)

    names = [] if variants == "none" else [name.strip() for name in variants.split(",")]
    made = make(
        folder or ensure_golden(home(), report), out, device=device, dtype=dtype, template={}, top_k=top_k,
        n_samples=samples, sample_tokens=sample_tokens, variants=names, report=report,
    )  # fmt: skip
    text = f"{made['file']}: {made['prompts']} prompts, {made['positions']} positions, sha256 {made['sha256']}"
    typer.echo(orjson.dumps(made).decode() if as_json else text)


def inspect(
    file: Annotated[Path, typer.Argument(help="A pack.")],
    *,
    against: Annotated[Path | None, typer.Option(help="Golden folder that it must have been recorded with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check all hashes of a pack and say what is in it."""
    import orjson  # noqa: PLC0415

    from jobs.pack_file import open_pack, summary  # noqa: PLC0415

    open_pack(file, against=against)
    found = summary(file)
    if as_json:
        typer.echo(orjson.dumps(found).decode())
        return
    mark = found["fingerprint"]
    typer.echo(f"{file}: {found['bytes']} bytes, sha256 {found['sha256']}")
    weights = mark["weights_sha256"][:12]
    typer.echo(f"recorded {found['created_at']} with {mark['engine']} in {mark['dtype']}, weights {weights}")
    typer.echo(", ".join(f"{count} {name}" for name, count in found["n"].items()) + f", top {found['top_k']}")


def score(
    file: Annotated[Path, typer.Argument(help="JSON lines: prompt_ids and completion_ids, or messages and text.")],
    *,
    folder: Folder = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    workers: Annotated[int, typer.Option(help="Processes; with cuda each takes a GPU.", min=1)] = 1,
) -> None:
    """Score given answers with golden weights: one JSON line per answer, as soon as it is done."""
    from jobs.golden import ensure_golden  # noqa: PLC0415
    from jobs.score_file import run  # noqa: PLC0415
    from monitor.config_types import ReferenceConfig  # noqa: PLC0415

    golden = folder or ensure_golden(home(), lambda line: typer.echo(line, err=True))
    # Checked as the configuration would: device and dtype are refused by the engine itself.
    reference = ReferenceConfig(path=str(golden), device=device, dtype=dtype, workers=workers)  # type: ignore[arg-type]
    run(file, reference, echo=typer.echo, report=lambda line: typer.echo(line, err=True))
