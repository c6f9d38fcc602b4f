"""Lets one process at a time work on a file: the lock ends with the process, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from monitor.errors import StoreError


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Hold the side file ``path.lock`` for as long as the context is open.

    Raises
    ------
    StoreError
        When another process holds it, and the message says which; or when there can be no such file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        side = path.with_name(path.name + ".lock").open("a+")
    except OSError as error:
        raise StoreError(f"{path}: {what} cannot write there ({error.strerror}); set agent.spool to another place"
                         ) from None  # fmt: skip
    with side:
        try:
            fcntl.flock(side, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            side.seek(0)
            holder = side.read().strip() or "unknown"
            raise StoreError(f"{path} is in use by {what} with pid {holder}; stop that one first") from None
        with suppress(OSError):  # on a full disk nobody can read who has it; the lock holds
            os.ftruncate(side.fileno(), 0)
            os.write(side.fileno(), str(os.getpid()).encode())
        yield
