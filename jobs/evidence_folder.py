"""Keeps the evidence of commands that run without a store: captures, records and verdicts as plain files."""

from pathlib import Path

import orjson

from jobs.pipeline import Judged, Probed
from monitor.codec import encode, plain
from monitor.errors import UsageError
from monitor.types import Endpoint
from monitor.wire.files import dump

DEFAULT = Path("weighmaster-out")


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
    for record, captures in zip(probed.records, probed.captures, strict=True):
        run = _place(folder, probed.endpoint) / f"{record.run.probe}-{record.run.run_id}"
        run.mkdir(parents=True, exist_ok=True)
        (run / "record.json").write_bytes(encode(record))
        for index, capture in enumerate(captures):
            (run / f"{index:03}.capture").write_bytes(dump(capture))


def keep_judged(folder: Path, judged: Judged) -> None:
    """Write what the golden side and the detectors made of it: ``views.json`` and ``verdicts.json``."""
    place = _place(folder, judged.probed.endpoint)
    place.mkdir(parents=True, exist_ok=True)
    pretty = orjson.dumps([plain(verdict) for verdict in judged.verdicts], option=orjson.OPT_INDENT_2)
    (place / "verdicts.json").write_bytes(pretty)
    (place / "views.json").write_bytes(encode(list(judged.views.values())))


def _place(folder: Path, endpoint: Endpoint) -> Path:
    return folder / endpoint.name.replace("/", "__")
