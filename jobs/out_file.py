"""Files that commands write: refused before the work begins, not after it."""

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
        raise UsageError(f"{path}: is a folder; give --out the name of a file")
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder {folder}; make it, or choose another --out")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{path}: may not be written; choose another --out")
