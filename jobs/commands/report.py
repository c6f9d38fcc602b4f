"""Commands that show what was found: compare, show, publish."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.options import CONFIG, AsJson, ConfigFile, StoreUrl

if TYPE_CHECKING:
    from datetime import timedelta

    from monitor.config_types import Config


Since = Annotated[str, typer.Option(help="How far back from the newest run: 12h, 7d, 30d, or all.")]
Sources = Annotated[
    list[Path] | None,
    typer.Option("--from", help="A folder of evidence (repeatable) or one snapshot, instead of the store."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    for command in (compare, show, publish):
        app.command()(command)


def compare(
    endpoints: Annotated[
        list[str] | None, typer.Argument(help="Names or patterns such as acme/*; default: all there are.")
    ] = None,
    *,
    since: Since = "7d",
    sources: Sources = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for comparison.html, .md, .json and .csv.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="What to print: text, html, md, json or csv.")] = "text",
    as_json: AsJson = False,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
) -> None:
    """Compare endpoints of a model: fidelity, speed, availability, price, with intervals and ties.

    Exit 1 when one fails or is suspect, 3 when nothing could be measured.
    """
    from jobs.compare import Wanted, run  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415

    if form not in {"text", "html", "md", "json", "csv"}:
        raise UsageError(f"--format must be text, html, md, json or csv, not {form[:40]!r}")
    wanted = Wanted(patterns=tuple(endpoints or ()), span=_span(since))
    loaded = _load(config, needed=not sources)
    chosen = "json" if as_json else form
    code = run(loaded, wanted, sources or [], store_url=store_url, form=chosen, out=out)  # type: ignore[arg-type]  # checked
    raise typer.Exit(code)


def show(
    verdict: Annotated[str, typer.Argument(help="Id of a verdict, or its first characters.")],
    *,
    source: Annotated[Path | None, typer.Option("--from", help="A folder of evidence, instead of the store.")] = None,
    as_json: AsJson = False,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
) -> None:
    """Show one verdict with all that it says, and the command that computes it again.

    Exit 1 when it is fail or suspect, 3 when it is inconclusive.
    """
    from jobs.show import run  # noqa: PLC0415

    loaded = None if source is not None else _load(config, needed=True)
    raise typer.Exit(run(loaded, verdict, source, store_url=store_url, as_json=as_json))


def publish(
    endpoints: Annotated[
        list[str] | None, typer.Argument(help="Names or patterns such as acme/*; default: all there are.")
    ] = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for index.html, status.json and badges/.")],
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Endpoints, as measured",
    since: Since = "7d",
    sources: Sources = None,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
) -> None:
    """Write a public, read-only status page as files for any web server, with a badge per endpoint.

    Addresses, errors, places and what endpoints said are not in it.
    """
    from jobs.compare import Wanted, compared  # noqa: PLC0415
    from jobs.publish import write  # noqa: PLC0415

    wanted = Wanted(patterns=tuple(endpoints or ()), span=_span(since))
    loaded = _load(config, needed=not sources)
    write(compared(loaded, wanted, sources or [], store_url=store_url, public=True), out, title=title)


def _span(text: str) -> "timedelta | None":
    from datetime import timedelta  # noqa: PLC0415

    from jobs.alert_desk import duration_s  # noqa: PLC0415

    return None if text == "all" else timedelta(seconds=duration_s(text))


def _load(config: Path, *, needed: bool) -> "Config | None":
    """The configuration; where folders are compared it only adds the ladder, and may be missing at its usual place."""
    from jobs.settings import load_config  # noqa: PLC0415
    from monitor.errors import UsageError  # noqa: PLC0415

    if not needed and config == CONFIG and not config.exists():
        return None
    if needed and not config.exists():
        raise UsageError(f"{config}: no such file; name one with --config, or a folder of evidence with --from")
    return load_config(config, os.environ, detectors=False)
