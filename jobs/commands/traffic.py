"""Commands on real traffic: ingest."""

import os
from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import CONFIG, AsJson, ConfigFile, OwnPort, StoreUrl


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command()(ingest)


def ingest(
    source: Annotated[Path | None, typer.Argument(help="Access log (JSON lines) or OTLP documents; -: stdin.")] = None,
    *,
    endpoint: Annotated[str, typer.Option(help="Endpoint of the configuration that the traffic went to.")],
    name: Annotated[str, typer.Option(help="What the traffic is; only traffic of one name is compared.")] = "traffic",
    any_model: Annotated[bool, typer.Option("--any-model", help="Take answers of other models too.")] = False,
    keep_content: Annotated[bool, typer.Option("--keep-content", help="Keep the words; else dropped.")] = False,
    host: Annotated[str, typer.Option(help="Where to listen without SOURCE; beyond loopback a token is needed.")] = (
        "127.0.0.1"
    ),
    port: OwnPort = 4318,
    config: ConfigFile = CONFIG,
    store_url: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Take numbers of real traffic in, no content: a log, or without SOURCE what comes in over HTTP until Ctrl-C."""
    from jobs.settings import load_config  # noqa: PLC0415

    loaded = load_config(config, os.environ, detectors=False)
    address = store_url or loaded.store.url
    if source is not None:
        from jobs.ingest import run  # noqa: PLC0415

        code = run(
            loaded, source, address, endpoint=endpoint, name=name, any_model=any_model, keep=keep_content,
            as_json=as_json,
        )  # fmt: skip
        raise typer.Exit(code)
    from jobs.ingest_process import serve  # noqa: PLC0415
    from jobs.service import begin, print_url  # noqa: PLC0415

    begin()
    code = serve(
        loaded, address, endpoint=endpoint, name=name, any_model=any_model, keep=keep_content, host=host, port=port,
        ready=print_url,
    )  # fmt: skip
    raise typer.Exit(code)
