"""Commands that measure: demo, probe, audit, identify, init, check, schema."""

import os
from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import CONFIG, OUT, AsJson, ConfigFile, OutFolder, home


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    for command in (demo, probe, audit, identify, init, check, schema):
        app.command()(command)


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="One cycle in one process, then exit.")] = False,
    as_json: AsJson = False,
    out: OutFolder = OUT,
) -> None:
    """Show the main job on four local real endpoints, one faithful and three not.

    With --once: prints the verdict table and exits 0 when the four were told apart rightly, else 1.
    Without: starts the lab and the whole service, and prints the dashboard's address.
    """
    if once:
        from jobs.demo import run_once  # noqa: PLC0415

        raise typer.Exit(run_once(home(), out, as_json=as_json))
    from jobs.demo_service import run  # noqa: PLC0415

    raise typer.Exit(run(home()))


def probe(
    endpoints: Annotated[list[str], typer.Argument(help="Names from the configuration, or patterns such as acme/*.")],
    *,
    config: ConfigFile = CONFIG,
    kind: Annotated[list[str] | None, typer.Option(help="Only these probes; default: all in the file.")] = None,
    as_json: AsJson = False,
    out: OutFolder = OUT,
) -> None:
    """Probe and judge endpoints now, without the service; the evidence goes to a folder."""
    from jobs.probe_now import run  # noqa: PLC0415
    from jobs.settings import load_config  # noqa: PLC0415

    loaded = load_config(config, os.environ)
    raise typer.Exit(run(loaded, endpoints, kind or [], out, as_json=as_json))


def audit(
    endpoints: Annotated[
        list[str] | None, typer.Argument(help="Names from the configuration, or patterns such as acme/*.")
    ] = None,
    *,
    config: ConfigFile = CONFIG,
    budget_tokens: Annotated[
        int, typer.Option(min=1, help="No new round beyond so many tokens per endpoint, prompts included.")
    ] = 10_000,
    budget_usd: Annotated[
        float | None, typer.Option(help="No new round beyond so much money per endpoint; needs its prices.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Chance that a faithful endpoint fails.")] = 0.001,
    text_only: Annotated[bool, typer.Option("--text-only", help="Ask for no logprobs.")] = False,
    source: Annotated[
        str | None, typer.Option("--from", help="Compute again: a folder of evidence, or a verdict in the store.")
    ] = None,
    as_json: AsJson = False,
    out: OutFolder = OUT,
) -> None:
    """Find out whether endpoints are faithful to their golden model, with as few tokens as that takes.

    Stops as soon as the evidence suffices. With --from nothing is asked: verdicts are computed again.
    """
    from jobs.settings import load_config  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415

    if endpoints and source is not None:
        raise UsageError("--from computes old verdicts again: name either endpoints or --from FOLDER, not both")
    if not endpoints and not source:
        raise UsageError("name the endpoints to audit, or --from FOLDER to compute verdicts again")
    if budget_usd is not None and not 0 < budget_usd < float("inf"):
        raise UsageError(f"--budget-usd must be above 0, not {budget_usd}")
    if not 1e-100 <= alpha <= 0.5:  # beyond, 1 / alpha is no number, or says nothing
        raise UsageError(f"--alpha must lie between 1e-100 and 0.5, not {alpha}")
    loaded = load_config(config, os.environ)
    if source is not None:
        from jobs.audit_again import run as run_again  # noqa: PLC0415

        raise typer.Exit(run_again(loaded, source, as_json=as_json))
    from jobs.audit_now import Terms, run  # noqa: PLC0415
    from jobs.audit_report import Budget  # noqa: PLC0415

    terms = Terms(budget=Budget(tokens=budget_tokens, usd=budget_usd), alpha=alpha, text_only=text_only)
    raise typer.Exit(run(loaded, endpoints or [], terms, out, as_json=as_json))


def identify(
    endpoints: Annotated[list[str], typer.Argument(help="Names from the configuration, or patterns such as acme/*.")],
    *,
    config: ConfigFile = CONFIG,
    n: Annotated[int, typer.Option("--n", min=4, max=960, help="Most requests per endpoint, of one token each.")] = 40,
    top_k: Annotated[int, typer.Option(min=1, help="Logprobs to ask for.")] = 20,
    text_only: Annotated[bool, typer.Option("--text-only", help="Ask for 12 tokens each, no logprobs.")] = False,
    drawn: Annotated[bool, typer.Option("--drawn", help="Ask at temperature 1, for 40 tokens of text.")] = False,
    as_json: AsJson = False,
    out: OutFolder = OUT,
) -> None:
    """Name what endpoints serve: which quantisation, cache, rope, template or stack of layers explains the answers.

    Stops as soon as one family is as good as certain. Predicts what is missing first, some seconds per variant. Goes on
    by text where an endpoint gives no logprobs, or those after its sampler, and by drawn text where it refuses
    temperature 0.
    """
    from jobs.identify_now import Terms, Way, run  # noqa: PLC0415
    from jobs.settings import load_config  # noqa: PLC0415

    loaded = load_config(config, os.environ)
    terms = Terms(n=n, way=Way(top_k=None if text_only else top_k, drawn=drawn))
    raise typer.Exit(run(loaded, endpoints, terms, out, as_json=as_json))


def init(
    url: Annotated[str, typer.Argument(help="Base address of the API, such as https://api.acme.example/v1.")],
    *,
    api_key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the key.")] = None,
    model: Annotated[str | None, typer.Option(help="Model to ask; default: the first of the list.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; - prints it.")] = CONFIG,
) -> None:
    """Ask an endpoint what it is and write a configuration for it."""
    from jobs.init import init as ask  # noqa: PLC0415
    from jobs.settings import catalogues  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415

    if str(output) != "-" and output.exists():
        raise UsageError(f"{output} exists already; choose another --output, or - to print")
    if str(output) != "-" and not output.absolute().parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent}; choose another --output, or - to print")
    kinds = tuple(catalogues(detectors=False).probes)
    text = ask(
        url, api_key_env=api_key_env, environ=os.environ, model=model, kinds=kinds,
        report=lambda line: typer.echo(line, err=True),
    )  # fmt: skip
    if str(output) == "-":
        typer.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {output}; next: weighmaster check", err=True)


def check(*, config: ConfigFile = CONFIG, as_json: AsJson = False) -> None:
    """Validate the configuration and its references; show the plan: requests, tokens and money per day."""
    import orjson  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    from jobs import check as plan  # noqa: PLC0415
    from jobs.identify_check import variant_problems  # noqa: PLC0415
    from jobs.reference_check import reference_problems  # noqa: PLC0415
    from jobs.settings import load_config  # noqa: PLC0415
    from monitor.errors import ConfigError  # noqa: PLC0415

    loaded = load_config(config, os.environ)
    problems = (*reference_problems(loaded), *variant_problems(loaded), *plan.disabled(loaded))
    if as_json:
        typer.echo(orjson.dumps(plan.as_json(loaded) | {"problems": [str(one) for one in problems]}).decode())
    else:
        console = Console()
        console.print(plan.plan_view(loaded, console.width))
    if problems:
        raise ConfigError(problems)


def schema() -> None:
    """Print the JSON Schema of the configuration file."""
    import orjson  # noqa: PLC0415

    from jobs.settings import catalogues  # noqa: PLC0415
    from monitor.config import json_schema  # noqa: PLC0415

    typer.echo(orjson.dumps(json_schema(catalogues()), option=orjson.OPT_INDENT_2).decode())
