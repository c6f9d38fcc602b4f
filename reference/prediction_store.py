"""What variants say at a place, kept on disk: predicted once, looked up ever after.

A place is what stands before a token: the prompt and the answer so far. Of each place the most likely tokens of the
variant are kept, and whatever else was asked for, so that another endpoint with the same prompts finds them too.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

import reference.variants
from monitor.errors import UsageError
from monitor.ports import Floats

Known = dict[int, float]
"""Logprobs of tokens by id, rounded to float32."""

_BUSY_S = 60.0
_TABLE = (
    "CREATE TABLE IF NOT EXISTS predicted (variant TEXT, place BLOB, ids BLOB, logprobs BLOB, "
    "PRIMARY KEY (variant, place)) WITHOUT ROWID"
)


def place_of(prompt_ids: Sequence[int], said: Sequence[int]) -> bytes:
    """Return the hash of what stands before a token."""
    parts = (np.asarray(prompt_ids, dtype=np.int64), np.asarray(said, dtype=np.int64))
    head = f"{len(parts[0])},{len(parts[1])};".encode()
    return hashlib.blake2b(head + parts[0].tobytes() + parts[1].tobytes(), digest_size=16).digest()


def schemes_digest() -> str:
    """Return a hash of all schemes as they are written: another formula must not find the numbers of the old one."""
    folders = [Path(path) for path in reference.variants.__path__]
    texts = [path.read_bytes() for folder in folders for path in sorted(folder.glob("*.py"))]
    return hashlib.blake2b(b"\0".join(texts), digest_size=8).hexdigest()


class PredictionStore:
    """A file of predictions of one golden fingerprint. Several processes may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path.parent}: predictions cannot be kept there ({error.strerror}); set WEIGHMASTER_HOME"
                             ) from None  # fmt: skip
        with self._open() as connection:
            connection.execute(_TABLE)

    def read(self, variant: str, places: Iterable[bytes]) -> dict[bytes, Known]:
        """Return what is known of `variant` at `places`."""
        with self._open() as connection:
            return _read(connection, variant, places)

    def write(self, variant: str, new: Mapping[bytes, Known]) -> dict[bytes, Known]:
        """Add what is `new` to what is known, and return all that is known of these places now, as it is kept.

        One transaction, begun as a writer: what another process adds to a place meanwhile stays. So does a value that
        is there, or a verdict made of it would come out otherwise.
        """
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            before = _read(connection, variant, new)
            merged = {place: _rounded({**row, **before.get(place, {})}) for place, row in new.items()}
            rows = [
                (variant, place, np.array([*row], np.int32).tobytes(), np.array([*row.values()], np.float32).tobytes())
                for place, row in merged.items()
            ]
            connection.executemany("INSERT OR REPLACE INTO predicted VALUES (?, ?, ?, ?)", rows)
        return merged

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=_BUSY_S)) as connection, connection:
                yield connection
        except sqlite3.OperationalError as error:  # locked, or a full disk: the file is as it was
            raise UsageError(f"{self.path}: predictions cannot be read or kept now: {error}") from None
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{self.path}: predictions cannot be read or kept ({error}); delete the file, it is "
                             "computed again") from None  # fmt: skip


def _read(connection: sqlite3.Connection, variant: str, places: Iterable[bytes]) -> dict[bytes, Known]:
    found = {}
    for place in places:
        row = connection.execute(
            "SELECT ids, logprobs FROM predicted WHERE variant = ? AND place = ?", (variant, place)
        ).fetchone()
        if row is not None:
            ids, values = np.frombuffer(row[0], np.int32), np.frombuffer(row[1], np.float32)
            found[place] = dict(zip(ids.tolist(), values.tolist(), strict=True))
    return found


def _rounded(row: Known) -> Known:
    """The row as it is read again: the first answer must not differ from later ones."""
    return dict(zip(row, np.array([*row.values()], np.float32).tolist(), strict=True))


def gathered(known: Known, ids: Sequence[int]) -> Floats | None:
    """Return the logprobs of `ids`; None when one of them is not known."""
    if any(identifier not in known for identifier in ids):
        return None
    return np.array([known[identifier] for identifier in ids], dtype=np.float64)
