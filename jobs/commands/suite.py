"""Commands on private suites: suite key, validate, import, generate, run, results."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.commands.options import CONFIG, AsJson, ConfigFile

Customer = Annotated[str, typer.Option(help="Whose suite: small letters, digits, dashes.")]
Folder = Annotated[Path, typer.Option("--folder", help="Folder of the customers' files.")]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML here.")]
Markdown = Annotated[Path | None, typer.Option(help="Write a Markdown summary here.")]
FOLDER = Path("weighmaster-data") / "suites"


def register(app: typer.Typer) -> None:
    """Add the group ``suite`` to `app`."""
    group = typer.Typer(help="Private suites.", no_args_is_help=True)
    group.command()(key)
    group.command()(validate)
    group.command(name="import")(take)
    group.command()(generate)
    group.command()(run)
    group.command()(results)
    app.add_typer(group, name="suite")


def key(*, as_json: AsJson = False) -> None:
    """Print a fresh key for a customer's file; it is kept nowhere."""
    from jobs.suite_store import new_key  # noqa: PLC0415
    from jobs.terminal import show_document  # noqa: PLC0415

    if as_json:
        show_document({"key": new_key()})
    else:
        typer.echo(new_key())


def validate(
    file: Annotated[Path, typer.Argument(help="A suite, JSON lines or YAML.")], *, as_json: AsJson = False
) -> None:
    """Look at a suite and say what is in it, or all that is wrong with it."""
    from jobs.suite_import import validate as look  # noqa: PLC0415

    raise typer.Exit(look(file, as_json=as_json))


def take(
    file: Annotated[Path, typer.Argument(help="A suite of another program, or of our own schema.")],
    *,
    customer: Annotated[str | None, typer.Option(help="Keep it in this customer's file.")] = None,
    form: Annotated[str, typer.Option("--format", help="auto, weighmaster, or the format's name.")] = "auto",
    beside: Annotated[Path | None, typer.Option("--with", help="The second file of formats that have two.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the suite; default: that of the file.")] = None,
    report_unsupported: Annotated[
        bool, typer.Option("--report-unsupported", help="List every place that was not imported.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it in clear: JSON lines, or YAML.")] = None,
    folder: Folder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Take a suite over; what has no place here is listed and counted. Nothing in it is executed."""
    from jobs.suite_import import take as read  # noqa: PLC0415
    from jobs.suite_store import SuiteStore, key_of  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415

    said: dict[str, Any] = {
        "form": form, "beside": beside, "name": name, "report": report_unsupported, "out": out, "as_json": as_json
    }  # fmt: skip
    if customer is None:
        if out is None:
            raise UsageError("say where to: --customer NAME, --out FILE or both")
        raise typer.Exit(read(file, store=None, **said))
    with SuiteStore.opened(folder, customer, key_of(customer, os.environ)) as store:
        raise typer.Exit(read(file, store=store, **said))


def generate(
    reference: Annotated[str, typer.Argument(help="Name of a reference of the configuration; it must pass 60 to 95%.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the suite, YAML.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Fresh cases in every run.")] = 60,
    tries: Annotated[int, typer.Option(min=4, help="Instances put to golden at each level, and again.")] = 20,
    repeats: Annotated[int, typer.Option(min=1, help="Answers to each case.")] = 1,
    family: Annotated[list[str] | None, typer.Option(help="Only these families. Repeatable.")] = None,
    config: ConfigFile = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Write a suite of generated cases, each family at the hardest level that golden twice passes at 60 to 95%."""
    from jobs.settings import load_config  # noqa: PLC0415
    from jobs.suite_levels import run as measure  # noqa: PLC0415

    loaded = load_config(config, os.environ)
    code = measure(
        loaded, reference, out, n=n, n_tries=tries, repeats=repeats, kinds=family or [], as_json=as_json
    )
    raise typer.Exit(code)


def run(
    suite: Annotated[str, typer.Argument(help="Name of an imported suite, or path of one.")],
    endpoint: Annotated[str, typer.Argument(help="Endpoint of the configuration.")],
    *,
    customer: Customer,
    config: ConfigFile = CONFIG,
    repeats: Annotated[int | None, typer.Option(min=1, max=1000, help="Answers to each case.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, max=100, help="Temperature of all cases.")] = None,
    alpha: Annotated[float, typer.Option(help="Chance that a faithful endpoint fails.")] = 0.01,
    tolerance: Annotated[float, typer.Option(help="Loss that faithful engines may show, a share.")] = 0.02,
    margin: Annotated[float, typer.Option(help="Loss that must be out of the question for a pass.")] = 0.1,
    sequential: Annotated[bool, typer.Option("--sequential", help="Stop as soon as the evidence suffices.")] = False,
    no_golden: Annotated[bool, typer.Option("--no-golden", help="Compare with earlier runs only.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on with a run that was not finished.")] = False,
    pin: Annotated[bool, typer.Option("--pin", help="Make this run the baseline of later ones.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show requests, tokens and cost; send nothing.")] = False,
    allow_python: Annotated[bool, typer.Option("--allow-python", help="Run Python that the suite names.")] = False,
    junit: Junit = None,
    markdown: Markdown = None,
    folder: Folder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Put a suite to an endpoint, beside golden; a run that was killed goes on where it stopped."""
    from jobs.settings import load_config  # noqa: PLC0415
    from jobs.suite_report import require_files  # noqa: PLC0415
    from jobs.suite_run import run as ask  # noqa: PLC0415
    from jobs.suite_store import key_of  # noqa: PLC0415
    from jobs.suite_terms import Wanted  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415
    from monitor.suites.outcome import Terms  # noqa: PLC0415

    try:
        terms = Terms(alpha=alpha, tolerance=tolerance, margin=margin, looks=sequential)
    except ValueError as error:
        raise UsageError(f"--alpha, --tolerance, --margin: {error}") from None
    require_files(junit, markdown)
    wanted = Wanted(
        terms=terms, repeats=repeats, fresh=fresh, dry=dry_run, pin=pin, allow_python=allow_python, junit=junit,
        markdown=markdown, parameters=() if temperature is None else (("temperature", temperature),),
        with_golden=not no_golden,
    )  # fmt: skip
    secret = key_of(customer, os.environ)
    loaded = load_config(config, os.environ)
    code = ask(
        loaded, suite, endpoint, wanted, folder=folder, customer=customer, key=secret, as_json=as_json
    )
    raise typer.Exit(code)


def results(
    suite: Annotated[str | None, typer.Argument(help="Only this suite.")] = None,
    *,
    customer: Customer,
    endpoint: Annotated[str | None, typer.Option(help="Only this endpoint.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Show this run whole; its first characters do.")] = None,
    pin: Annotated[bool, typer.Option("--pin", help="With --run: make it the baseline of later runs.")] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="With --run: names of cases, and answers kept.")] = False,
    junit: Junit = None,
    markdown: Markdown = None,
    folder: Folder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """List the finished runs of a customer, or show one again."""
    from jobs.suite_results import show_results  # noqa: PLC0415
    from jobs.suite_store import key_of  # noqa: PLC0415

    code = show_results(
        folder, customer, key_of(customer, os.environ), suite=suite, endpoint=endpoint, run=run_id, pin=pin,
        reveal=reveal, junit=junit, markdown=markdown, as_json=as_json,
    )  # fmt: skip
    raise typer.Exit(code)
