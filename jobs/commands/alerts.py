"""Commands on alerts: alerts, alerts test, alerts ack, silence add, list and end."""

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.options import CONFIG, AsJson, ConfigFile, StoreUrl

if TYPE_CHECKING:
    from jobs.alert_desk import Desk
    from monitor.config_types import Config

By = Annotated[str | None, typer.Option(help="Who says so; default: $USER.")]


def register(app: typer.Typer) -> None:
    """Add the groups ``alerts`` and ``silence`` to `app`."""
    group = typer.Typer(help="Incidents, open and recent; routes; acknowledgements.")
    group.callback(invoke_without_command=True)(alerts)
    group.command(name="test")(try_route)
    group.command()(ack)
    app.add_typer(group, name="alerts")
    silence = typer.Typer(help="Times in which nobody is told.", no_args_is_help=True)
    silence.command(name="add")(silence_add)
    silence.command(name="list")(silence_list)
    silence.command(name="end")(silence_end)
    app.add_typer(silence, name="silence")


def alerts(
    context: typer.Context,
    *,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many incidents, open ones first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List incidents, open ones first, and messages that do not arrive; exit 1 when an incident is open."""
    if context.invoked_subcommand is None:
        from jobs.alert_tables import show_alerts  # noqa: PLC0415

        raise typer.Exit(show_alerts(_desk(config, store_url).listed(limit), as_json=as_json))


def try_route(
    route: Annotated[str, typer.Argument(help="A route of the configuration.")], *, config: ConfigFile = CONFIG
) -> None:
    """Send a message that says that it is a test; exit 3 when the route does not take it."""
    from jobs.alert_desk import tried  # noqa: PLC0415
    from jobs.settings import load_config  # noqa: PLC0415

    raise typer.Exit(tried(load_config(config, os.environ, detectors=False), route))


def ack(
    incident: Annotated[str, typer.Argument(help="Id of an open incident, or its first characters.")],
    *,
    note: Annotated[str, typer.Option(help="What to remember.")] = "",
    by: By = None,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
) -> None:
    """Say that somebody knows: no more reminders of this incident."""
    desk = _desk(config, store_url)
    typer.echo(f"acknowledged: {desk.acknowledge(incident, by=_who(by), note=note)}")


def silence_add(
    match: Annotated[str, typer.Argument(help="Names or a pattern of endpoints or providers, such as acme/*.")],
    *,
    for_: Annotated[str, typer.Option("--for", help="How long: 90s, 10m, 2h, 1d.")],
    reason: Annotated[str, typer.Option(help="Why; stands beside every incident that it mutes.")],
    topic: Annotated[str | None, typer.Option(help="Only this topic, such as speed; default: all.")] = None,
    by: By = None,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
) -> None:
    """Tell nobody about matching incidents for a while. What is still open at its end is told then."""
    from jobs.alert_desk import duration_s  # noqa: PLC0415

    desk = _desk(config, store_url)
    made = desk.silence(match, timedelta(seconds=duration_s(for_)), reason=reason, by=_who(by), topic=topic)
    typer.echo(f"silence {made.silence_id} until {made.until:%Y-%m-%d %H:%M} UTC")
    if not desk.knows(match):
        typer.echo(f"no endpoint or provider in the store matches {match!r} now; the silence holds", err=True)


def silence_list(*, config: ConfigFile = CONFIG, store_url: StoreUrl = None, as_json: AsJson = False) -> None:
    """List silences in force, of the configuration and of `silence add`."""
    from jobs.alert_tables import show_silences  # noqa: PLC0415

    show_silences(_desk(config, store_url).silences(), as_json=as_json)


def silence_end(
    silence: Annotated[str, typer.Argument(help="Id of a silence, or its first characters.")],
    *,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
) -> None:
    """End a silence now."""
    typer.echo(f"ended: {_desk(config, store_url).end(silence)}")


def _who(by: str | None) -> str:
    return by or os.environ.get("USER") or "somebody"


def _load(config: Path) -> "Config":
    from jobs.settings import load_service  # noqa: PLC0415

    return load_service(config, os.environ)


def _desk(config: Path, store_url: str | None) -> "Desk":
    from jobs.alert_desk import Desk  # noqa: PLC0415

    loaded = _load(config)
    return Desk(loaded, store_url or loaded.store.url)
