"""Keeps the evidence of commands that run without a store: captures, records and verdicts as plain files."""

from pathlib import Path

import orjson

from jobs.pipeline import Judged
from monitor.codec import encode, plain
from monitor.errors import UsageError
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


def keep(folder: Path, judged: Judged) -> Path:
    """Write one endpoint's evidence below `folder` and return where.

    Every run gets ``record.json`` and one ``NNN.capture`` per exchange, which ``weighmaster decode --format capture``
    reads; the endpoint gets ``verdicts.json`` and ``views.json``.
    """
    endpoint = judged.probed.endpoint
    place = folder / endpoint.name.replace("/", "__")
    for record, captures in zip(judged.probed.records, judged.probed.captures, strict=True):
        run = place / f"{record.run.probe}-{record.run.run_id}"
        run.mkdir(parents=True, exist_ok=True)
        (run / "record.json").write_bytes(encode(record))
        for index, capture in enumerate(captures):
            (run / f"{index:03}.capture").write_bytes(dump(capture))
    place.mkdir(parents=True, exist_ok=True)
    pretty = orjson.dumps([plain(verdict) for verdict in judged.verdicts], option=orjson.OPT_INDENT_2)
    (place / "verdicts.json").write_bytes(pretty)
    (place / "views.json").write_bytes(encode(list(judged.views.values())))
    return place
