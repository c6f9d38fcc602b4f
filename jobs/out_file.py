"""Files that commands write: refused before the work begins, not after it, and never half written."""

import os
from pathlib import Path

from monitor.errors import UsageError


def require_writable(path: Path) -> None:
    """Refuse a place where no file can be written.

    Raises
    ------
    UsageError
        When its folder is missing or closed to us, or it is a folder or a file that may not be changed.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; give the name of a file")
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder {folder}; make it, or name another file")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{path}: may not be written; name another file")


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` as the file `path`, which is the old one or the new one whenever somebody reads it."""
    if path.exists() and not path.is_file():  # a device or a pipe, such as /dev/null: a file must not take its place
        path.write_bytes(data)
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(data)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
