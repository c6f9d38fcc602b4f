"""Commands on the store's data: db snapshot, snapshots, restore, export, query, capture."""

import csv
import os
import sys
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jobs.commands.options import CONFIG, AsJson, ConfigFile

if TYPE_CHECKING:
    from monitor.config_store import StoreConfig

From = Annotated[Path | None, typer.Option("--snapshot", help="Snapshot to read; default: a fresh one.")]


def register(app: typer.Typer) -> None:
    """Add the group ``db`` to `app`."""
    group = typer.Typer(help="The store's data.", no_args_is_help=True)
    for command in (snapshot, snapshots, restore, export, query, capture):
        group.command()(command)
    app.add_typer(group, name="db")


def snapshot(*, config: ConfigFile = CONFIG, as_json: AsJson = False) -> None:
    """Copy the database and its evidence beside it, running or not, and print the folder."""
    from jobs.store_copies import take  # noqa: PLC0415
    from jobs.terminal import show_document  # noqa: PLC0415

    folder = take(_store(config))
    if as_json:
        show_document({"folder": str(folder)})
    else:
        typer.echo(folder)


def snapshots(*, config: ConfigFile = CONFIG, as_json: AsJson = False) -> None:
    """List the snapshots that there are, oldest first."""
    from jobs.store_copies import listed  # noqa: PLC0415
    from jobs.terminal import show_document  # noqa: PLC0415

    found = listed(_store(config))
    if as_json:
        show_document({"snapshots": found})
        return
    for one in found:
        typer.echo(f"{one['taken_at']}  {one['bytes'] / 2**20:8.1f} MiB  {one['folder']}")


def restore(
    snapshot: Annotated[Path, typer.Argument(help="Folder or name of the snapshot.")], *,
    config: ConfigFile = CONFIG, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Put a snapshot in the place of the database; the store must be stopped, and what was there is moved aside."""
    from jobs.store_copies import put_back  # noqa: PLC0415
    from jobs.terminal import show_document  # noqa: PLC0415

    loaded = _store(config)
    aside = put_back(loaded, snapshot)
    if as_json:
        show_document({"path": loaded.path, "replaced": str(aside) if aside else None})
        return
    typer.echo(f"{loaded.path}: restored from {snapshot}")
    if aside:
        typer.echo(f"what was there is in {aside}")


def export(
    folder: Annotated[Path, typer.Argument(help="Folder to write into, one file per table.")], *,
    format: Annotated[Literal["parquet", "csv"], typer.Option(help="Format of the files.")] = "parquet",  # noqa: A002
    table: Annotated[list[str] | None, typer.Option(help="Only this table; repeatable.")] = None,
    since: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only rows from that UTC day.")] = None,
    snapshot: From = None, config: ConfigFile = CONFIG, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Write tables as Parquet or CSV."""
    from datetime import UTC  # noqa: PLC0415

    from jobs.store_copies import readable  # noqa: PLC0415
    from jobs.terminal import show_document  # noqa: PLC0415
    from storage.snapshot_reads import export as write  # noqa: PLC0415

    with readable(_store(config), snapshot) as source:
        from_at = since.replace(tzinfo=UTC) if since else None
        written = write(source, folder, tables=table or (), format=format, since=from_at)
    if as_json:
        show_document({"folder": str(folder), "rows": written})
        return
    for name, rows in written.items():
        typer.echo(f"{folder / name}: {rows} rows")


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT.")], *,
    rows: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most rows.")] = 1000,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600, help="Most seconds.")] = 30.0,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values on standard output.")] = False,
    snapshot: From = None, config: ConfigFile = CONFIG, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Answer a SELECT on a snapshot, which nothing can change (tables: docs/storage.md)."""
    from jobs.store_copies import readable  # noqa: PLC0415
    from storage.snapshot_reads import query as ask  # noqa: PLC0415

    with readable(_store(config), snapshot) as source:
        found = ask(source, sql, rows=rows, timeout_s=timeout)
    _print(found.columns, found.rows, as_csv=as_csv, as_json=as_json, more=found.more)
    if found.more:
        typer.echo(f"only the first {rows} rows; --rows N shows more", err=True)


def capture(
    exchange_id: Annotated[str, typer.Argument(help="Id of the exchange, as `db query` or the API names it.")], *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default: standard output.")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Write the capture behind an exchange, which `weighmaster decode --format capture` reads."""
    from jobs.store_copies import capture as fetch  # noqa: PLC0415

    found = fetch(_store(config), exchange_id)
    if out is None:
        typer.echo(found.decode(), nl=False)
    else:
        out.write_bytes(found)


def _print(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, as_csv: bool, as_json: bool, more: bool
) -> None:  # fmt: skip
    from jobs.terminal import show, show_document  # noqa: PLC0415
    from monitor.codec import plain  # noqa: PLC0415
    from storage.snapshot_reads import safe_cell  # noqa: PLC0415

    if as_json:
        show_document({"columns": list(columns), "rows": plain(_jsonable(rows)), "more": more})
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([safe_cell(name) for name in columns])
        writer.writerows([[safe_cell(value) for value in row] for row in rows])
    else:
        show(_table(columns, rows))


def _jsonable(value: Any) -> Any:
    """What JSON has no word for (intervals, decimals, integers beyond 64 bits) becomes text."""
    match value:
        case dict():
            return {str(key): _jsonable(one) for key, one in value.items()}
        case list() | tuple():
            return [_jsonable(one) for one in value]
        case None | bool() | str() | float() | date():
            return value
        case int() if abs(value) < 2**63:
            return value
        case _:
            return str(value)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table()
    for name in columns:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*(Text("–" if value is None else str(value)) for value in row))
    return table


def _store(config: Path) -> "StoreConfig":
    from jobs.settings import load_config  # noqa: PLC0415

    return load_config(config, os.environ, detectors=False).store
