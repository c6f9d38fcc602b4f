"""Commands of the service: up, agent, store, judge, dashboard, status, fleet, health, doctor."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.options import CONFIG, AsJson, ConfigFile, Port, StoreUrl

if TYPE_CHECKING:
    from jobs.reload import Following
    from monitor.config_types import Config


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    for command in (up, agent, store, judge, dashboard, status, fleet, health, doctor):
        app.command()(command)


def up(*, config: ConfigFile = CONFIG) -> None:
    """Run the whole service on this machine: store, agent, judge and dashboard."""
    from jobs.service import begin  # noqa: PLC0415
    from jobs.up import run  # noqa: PLC0415

    begin()
    raise typer.Exit(run(config, _load(config)))


def agent(*, config: ConfigFile = CONFIG, store_url: StoreUrl = None) -> None:
    """Probe on schedule, keep results in the spool, push them to the store."""
    from jobs.service import begin, run_agent  # noqa: PLC0415

    begin()
    loaded = _load(config, detectors=False)
    run_agent(_following(config, loaded, detectors=False), store_url or loaded.store.url)


def store(*, config: ConfigFile = CONFIG, port: Port = None) -> None:
    """Own the database: take results in, answer the dashboard and the judge."""
    from jobs.service import begin, print_url  # noqa: PLC0415
    from jobs.store_process import serve  # noqa: PLC0415

    begin()
    loaded = _load(config, detectors=False)
    port = loaded.store.listen.port if port is None else port
    serve(loaded.store, port, ready=print_url, file=_following(config, loaded, detectors=False))


def judge(
    *, config: ConfigFile = CONFIG, store_url: StoreUrl = None,
    alerts: Annotated[bool, typer.Option(help="Look after the rules of alerting; in one judge per store.")] = True,
) -> None:  # fmt: skip
    """Compare what was probed with the golden weights, post verdicts, tell the routes."""
    from jobs.service import begin, run_judge  # noqa: PLC0415

    begin()
    loaded = _load(config)
    run_judge(_following(config, loaded), store_url or loaded.store.url, alerts=alerts)


def dashboard(*, config: ConfigFile = CONFIG, store_url: StoreUrl = None, port: Port = None) -> None:
    """Serve the pages."""
    from jobs.dashboard_process import serve  # noqa: PLC0415
    from jobs.service import begin  # noqa: PLC0415

    begin()
    loaded = _load(config, detectors=False)
    at, token = loaded.dashboard.listen, loaded.store.token
    if token:
        os.environ["WEIGHMASTER_TOKEN"] = token.get_secret_value()
    if loaded.store.tls_ca:
        os.environ["SSL_CERT_FILE"] = loaded.store.tls_ca
    bound = at.port if port is None else port
    raise typer.Exit(serve(store_url=store_url or loaded.store.url, host=at.host, port=bound))


def status(*, config: ConfigFile = CONFIG, store_url: StoreUrl = None, as_json: AsJson = False) -> None:
    """Print newest verdicts, slots and spending of all endpoints.

    Exit 1 when one fails or is suspect, 3 when nothing is known.
    """
    from jobs.clock import SystemClock  # noqa: PLC0415
    from jobs.settings import load_service  # noqa: PLC0415
    from jobs.status import run  # noqa: PLC0415

    loaded = load_service(config, os.environ)
    raise typer.Exit(run(loaded, store_url or loaded.store.url, SystemClock(), as_json=as_json))


def fleet(
    *, since: Annotated[str, typer.Option(help="How far back: 90m, 24h, 7d.")] = "24h", config: ConfigFile = CONFIG,
    store_url: StoreUrl = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the agents there are, their clocks and versions, and how each endpoint looks from where they are.

    Exit 1 when an agent has gone quiet or two run under one name, 3 when there is none.
    """
    from jobs.alert_desk import duration_s  # noqa: PLC0415
    from jobs.clock import SystemClock  # noqa: PLC0415
    from jobs.fleet import run  # noqa: PLC0415
    from jobs.settings import load_service  # noqa: PLC0415

    loaded = load_service(config, os.environ)
    url = store_url or loaded.store.url
    raise typer.Exit(run(loaded, url, SystemClock(), since_s=duration_s(since), as_json=as_json))


def health(
    processes: Annotated[list[str] | None, typer.Argument(help="store, agent, judge, dashboard; default: all.")] = None,
    *, config: ConfigFile = CONFIG, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Say which processes of the service on this machine work; exit 1 when one does not."""
    from jobs.clock import SystemClock  # noqa: PLC0415
    from jobs.health import run  # noqa: PLC0415
    from jobs.settings import load_service  # noqa: PLC0415

    raise typer.Exit(run(load_service(config, os.environ), processes or (), SystemClock(), as_json=as_json))


def doctor(*, config: ConfigFile = CONFIG, store_url: StoreUrl = None, as_json: AsJson = False) -> None:
    """Look for what would keep the service from working here, and say what to do; exit 1 when something fails.

    Ports, disk, versions, names of packages, keys, golden folders, store, clock, agents, spools, processes.
    """
    from jobs.clock import SystemClock  # noqa: PLC0415
    from jobs.doctor import run  # noqa: PLC0415
    from jobs.doctor_checks import checks  # noqa: PLC0415

    raise typer.Exit(run(checks(config, os.environ, SystemClock(), store_url), as_json=as_json))


def _following(config: Path, loaded: "Config", *, detectors: bool = True) -> "Following":
    from jobs.clock import SystemClock  # noqa: PLC0415
    from jobs.reload import Following  # noqa: PLC0415

    return Following(config, loaded, os.environ, SystemClock(), detectors=detectors)


def _load(config: Path, *, detectors: bool = True) -> "Config":
    from jobs.settings import load_config  # noqa: PLC0415

    return load_config(config, os.environ, detectors=detectors)

