"""Keeps the evidence of commands that run without a store: captures, records and verdicts as plain files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import orjson

from jobs.out_file import replace_file
from jobs.pipeline import Judged, Probed
from monitor.codec import decode, encode, plain
from monitor.errors import UsageError
from monitor.results import GoldenView, RunRecord, Verdict
from monitor.types import Capture, Endpoint
from monitor.wire.dispatch import decode as decode_capture
from monitor.wire.files import dump, load

T = TypeVar("T")

ENDPOINT, VERDICTS, VIEWS = "endpoint.json", "verdicts.json", "views.json"


def prepare(folder: Path) -> Path:
    """Make sure that evidence can be written before anything is measured.

    Raises
    ------
    UsageError
        When the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror}); choose another --out") from None
    return folder


def keep_probed(folder: Path, probed: Probed) -> None:
    """Write what was measured at one endpoint below `folder`.

    Every run gets ``record.json`` and one ``NNN.capture`` per exchange, which ``weighmaster decode`` reads.
    """
    place = place_of(folder, probed.endpoint.name)
    place.mkdir(parents=True, exist_ok=True)
    (place / ENDPOINT).write_bytes(encode(probed.endpoint))
    for record, captures in zip(probed.records, probed.captures, strict=True):
        run = place / f"{record.run.probe}-{record.run.run_id}"
        run.mkdir(parents=True, exist_ok=True)
        (run / "record.json").write_bytes(encode(record))
        for index, capture in enumerate(captures):
            (run / f"{index:03}.capture").write_bytes(dump(capture))


def keep_judged(folder: Path, judged: Judged) -> None:
    """Write what the golden side and the detectors made of it: ``views.json`` and ``verdicts.json``.

    What is there of earlier commands stays, as their runs do.
    """
    place = place_of(folder, judged.probed.endpoint.name)
    place.mkdir(parents=True, exist_ok=True)
    told = {one.verdict_id: one for one in (*(_before(verdicts_in, place / VERDICTS) or ()), *judged.verdicts)}
    views = {**(_before(views_in, place / VIEWS) or {}), **judged.views}
    replace_file(place / VERDICTS, orjson.dumps([plain(one) for one in told.values()], option=orjson.OPT_INDENT_2))
    replace_file(place / VIEWS, encode(list(views.values())))


def _before(read_file: Callable[[Path], T], path: Path) -> T | None:
    """What earlier commands wrote; a damaged file is put aside, since what was measured now must be kept."""
    try:
        return read_file(path)
    except ValueError:
        path.replace(path.with_suffix(".damaged"))
        return None


def views_in(path: Path) -> dict[str, GoldenView]:
    """Golden views by exchange in a file that `keep_judged` wrote; none where there is no file."""
    found = decode(tuple[GoldenView, ...], path.read_bytes()) if path.exists() else ()
    return {one.exchange_id: one for one in found}


def verdicts_in(path: Path) -> list[Verdict]:
    """Verdicts in a file that `keep_judged` wrote, in the order of writing; none where there is no file."""
    return list(decode(tuple[Verdict, ...], path.read_bytes())) if path.exists() else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a folder holds of one endpoint: its runs, oldest first, and the verdicts that were made of them."""

    place: Path
    probed: Probed
    verdicts: tuple[Verdict, ...]
    n_changed: int


def read(folder: Path) -> list[Kept]:
    """Read what `keep_probed` and `keep_judged` wrote in `folder`, or in the place of one endpoint below it.

    Exchanges are decoded from their captures again; ``n_changed`` counts those that are not what was recorded then,
    because this version decodes otherwise.

    Raises
    ------
    UsageError
        When there is no evidence, or it cannot be read.
    """
    places = [path.parent for path in sorted([*folder.glob(ENDPOINT), *folder.glob(f"*/{ENDPOINT}")])]
    if not places:
        raise UsageError(f"{folder}: no evidence here; give the folder that --out named, or that of one endpoint in it")
    return [_read_place(place) for place in places]


def _read_place(place: Path) -> Kept:
    with _naming(place / ENDPOINT) as path:
        endpoint = decode(Endpoint, path.read_bytes())
    runs = [_read_run(path.parent) for path in place.glob("*/record.json")]
    others = {run[0].run.endpoint for run in runs} - {endpoint.name}
    if others:
        raise UsageError(f"{place}: {ENDPOINT} speaks of {endpoint.name}, and there are runs against "
                         f"{', '.join(sorted(others))}; evidence of two endpoints cannot be one verdict")  # fmt: skip
    chosen = sorted(runs, key=lambda run: run[0].run.started_at)
    with _naming(place / VERDICTS) as path:
        verdicts = verdicts_in(path)
    return Kept(
        place=place, verdicts=tuple(verdicts), n_changed=sum(run[2] for run in chosen),
        probed=Probed(
            endpoint=endpoint, records=tuple(run[0] for run in chosen), captures=tuple(run[1] for run in chosen)
        ),
    )  # fmt: skip


def _read_run(folder: Path) -> tuple[RunRecord, tuple[Capture, ...], int]:
    """A run with its exchanges decoded again, its captures, and how many exchanges are not what they were."""
    with _naming(folder / "record.json") as path:
        record = decode(RunRecord, path.read_bytes())
    captures, fresh, changed = [], [], 0
    for index, old in enumerate(record.exchanges):
        with _naming(folder / f"{index:03}.capture") as path:
            captures.append(load(path.read_bytes(), "capture"))
        fresh.append(replace(decode_capture(captures[-1]), run_id=old.run_id, exchange_id=old.exchange_id))
        changed += encode(fresh[-1]) != encode(old)
    return replace(record, exchanges=tuple(fresh)), tuple(captures), changed


@contextmanager
def _naming(path: Path) -> Iterator[Path]:
    """Let errors of what reads `path` name it and the remedy."""
    try:
        yield path
    except (OSError, ValueError, UsageError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path}: evidence that cannot be read: {why}; a verdict needs all of it as it was written"
                         ) from None  # fmt: skip


def place_of(folder: Path, name: str) -> Path:
    """Where the evidence on the endpoint `name` is: ``acme/m`` in ``acme__m``, and no other endpoint there."""
    place = name.replace("/", "__")
    return folder / (place if place.replace("__", "/") == name else quote(name.replace("_", "%5F"), safe="%"))
