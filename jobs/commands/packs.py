"""Commands on recorded golden answers, and scoring by hand: reference pack, pack-inspect, pack-key, score."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.commands.options import AsJson, home

Folder = Annotated[Path | None, typer.Option(help="Golden folder; default: the one that build makes.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N, mps, balanced or sequential.")]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the group ``reference`` of `app`."""
    group = next(found.typer_instance for found in app.registered_groups if found.name == "reference")
    assert group is not None  # noqa: S101  # jobs.commands.golden made it
    group.command()(pack)
    group.command(name="pack-inspect")(inspect)
    group.command(name="pack-key")(key)
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
    probe: Annotated[list[str] | None, typer.Option(help="Probes to record for; default: logprobs and greedy.")] = None,
    model: Annotated[str | None, typer.Option(help="Name to find the pack by; default: the folder's.")] = None,
    family: Annotated[str | None, typer.Option(help="How the model writes tool calls; default: by its name.")] = None,
    sign: Annotated[Path | None, typer.Option(help="File with the private key that signs the pack.")] = None,
    sign_env: Annotated[str | None, typer.Option(help="Environment variable that holds such a key.")] = None,
    as_json: AsJson = False,
) -> None:
    """Record the golden answers to probes in one file, so that others can check without the weights."""
    import orjson  # noqa: PLC0415

    from jobs.golden import ensure_golden  # noqa: PLC0415
    from jobs.pack import make  # noqa: PLC0415

    def report(line: str) -> None:
        typer.echo(line, err=True)

    private = signing_key(sign, sign_env)  # first: a mistake here must not cost an hour of recording
    names = [] if variants == "none" else [name.strip() for name in variants.split(",")]
    kinds = probe or ["logprobs", "greedy"]
    made = make(
        lambda: folder or ensure_golden(home(), report), out, device=device, dtype=dtype, template={}, top_k=top_k,
        n_samples=samples, sample_tokens=sample_tokens, variants=names, report=report,
        kinds=kinds, model=model, family=family, key=private,
    )  # fmt: skip
    text = f"{made['file']}: {made['prompts']} prompts, {made['positions']} positions, sha256 {made['sha256']}"
    text += f", signed by {made['signer']}" if made["signer"] else ""
    typer.echo(orjson.dumps(made).decode() if as_json else text)


def inspect(
    file: Annotated[Path, typer.Argument(help="A pack.")],
    *,
    against: Annotated[Path | None, typer.Option(help="Golden folder that it must have been recorded with.")] = None,
    key: Annotated[list[str] | None, typer.Option(help="Public keys, one of which must have signed it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check all hashes and the signature of a pack and say what is in it; exits 1 when the signature does not fit."""
    import orjson  # noqa: PLC0415

    from jobs.pack_file import engine_of, summary  # noqa: PLC0415
    from jobs.pack_signature import trusted_key  # noqa: PLC0415

    keys = [trusted_key(one) for one in key or ()]
    found = summary(file, keys=keys, check=lambda data: engine_of(data, str(file), against=against))
    broken = found["signature"] is not None and not found["signature"]["valid"]
    found["against"] = None if broken or against is None else str(against)
    told = _told_unread(file, found, against) if broken else _told(file, found)
    typer.echo(orjson.dumps(found).decode() if as_json else told)
    raise typer.Exit(1 if broken else 0)


def _told_unread(file: Path, found: dict[str, Any], against: Path | None) -> str:
    unread = "nothing in it was read"
    if against is not None:
        unread += f", so it was not compared with {against} (--against)"
    return f"{file}: {found['bytes']} bytes, sha256 {found['sha256']}\n{_signed(found['signature'])}\n{unread}"


def _told(file: Path, found: dict[str, Any]) -> str:
    mark, signed = found["fingerprint"], _signed(found["signature"])
    weights = mark["weights_sha256"][:12]
    counts = ", ".join(f"{count} {name}" for name, count in found["n"].items())
    return "\n".join([
        f"{file}: {found['bytes']} bytes, sha256 {found['sha256']}",
        signed,
        f"model {found.get('model') or 'unknown'}, revision {mark.get('revision') or 'unknown'}",
        f"recorded {found['created_at']} with {mark['engine']} in {mark['dtype']}, weights {weights}",
        f"{counts}, top {found['top_k']}",
    ])


def _signed(signature: dict[str, Any] | None) -> str:
    if signature is None:
        return "not signed"
    if signature["signer"] is None:
        return "signature DAMAGED: the end of the file was cut off, changed or added to"
    fits = "valid" if signature["valid"] else "NOT VALID: the file was changed afterwards"
    return f"signed by {signature['signer']}, signature {fits}"


def key(
    file: Annotated[Path, typer.Argument(help="File to write the private key to; it must not exist.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Make a key that signs packs; prints the public key, which goes into `keys` of who trusts you."""
    import orjson  # noqa: PLC0415

    from jobs.pack_signature import new_key  # noqa: PLC0415

    public = new_key(file)
    typer.echo(orjson.dumps({"file": str(file), "public_key": public}).decode() if as_json else public)


def signing_key(file: Path | None, variable: str | None) -> Any:
    """Return the private key in `file` or in the environment variable `variable`; None when neither is given.

    Raises
    ------
    UsageError
        When both are given, or what is given holds no key.
    """
    from jobs.pack_signature import read_key  # noqa: PLC0415
    from jobs.settings import read_text  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415

    if file is not None and variable is not None:
        raise UsageError("give --sign or --sign-env, not both")
    if file is not None and not file.is_file():
        raise UsageError(f"{file}: no such file; `weighmaster reference pack-key FILE` makes a key")
    if file is not None:
        return read_key(read_text(file), str(file))
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise UsageError(f"the environment variable {variable} is not set; it must hold the private key")
    return read_key(os.environ[variable], f"the environment variable {variable}")


def score(
    file: Annotated[Path, typer.Argument(help="JSON lines: prompt_ids and completion_ids, or messages and text.")],
    *,
    folder: Folder = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    workers: Annotated[int, typer.Option(help="Processes; with cuda each takes a GPU.", min=1)] = 1,
) -> None:
    """Score given answers with golden weights: one JSON line per answer, as soon as it is done."""
    from jobs.golden import ensure_golden, golden_folder  # noqa: PLC0415
    from jobs.score_file import read_rows, run  # noqa: PLC0415
    from monitor.config_types import ReferenceConfig  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415

    golden = folder or golden_folder(home())
    try:  # device and dtype are refused by the engine itself
        reference = ReferenceConfig(path=str(golden), device=device, dtype=dtype, workers=workers)  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(str(error)) from None
    rows = read_rows(file)  # first: a mistake here must not cost the loading of a model
    if folder is None:
        ensure_golden(home(), lambda line: typer.echo(line, err=True))
    run(file, rows, reference, echo=typer.echo, report=lambda line: typer.echo(line, err=True))
