"""A customer's own file: suites, runs and golden answers, encrypted with the customer's own key, appended line by line.

Every line is a Fernet token (AES-128-CBC with HMAC-SHA256, `cryptography`) of one numbered record, so that a line that
was changed, moved or taken out is noticed. A line is on the disk when `append` returns; what a killed process wrote
half is cut off by the next.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import orjson
from cryptography.fernet import Fernet, InvalidToken

from jobs.only_one import only_one
from monitor.errors import StoreError, UsageError

FOLDER = Path("weighmaster-data") / "suites"
_CUSTOMER = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_SUFFIX = ".suites"

Record = dict[str, Any]


def new_key() -> str:
    """Return a fresh key: 32 random bytes, as text for an environment variable."""
    return Fernet.generate_key().decode()


def key_name(customer: str) -> str:
    """Name of the environment variable with the key of `customer`."""
    return f"WEIGHMASTER_SUITE_KEY_{customer.upper().replace('-', '_')}"


def key_of(customer: str, environ: Mapping[str, str]) -> str:
    """Return the key of `customer`.

    Raises
    ------
    UsageError
        When the name is none, or its variable is not set.
    """
    if not _CUSTOMER.fullmatch(customer):
        raise UsageError("--customer: small letters, digits and dashes, such as acme")
    name = key_name(customer)
    if not environ.get(name, "").strip():
        raise UsageError(f"{name} is not set: it holds the key of this customer; `weighmaster suite key` makes one")
    return environ[name].strip()


class SuiteStore:
    """The open file of one customer. Holds its lock: two runs at a time would not see each other's answers."""

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._variable = path, key_name(path.name.removesuffix(_SUFFIX))
        try:
            self._fernet = Fernet(key)
        except ValueError:
            raise UsageError(f"{self._variable} holds no key: `weighmaster suite key` makes one") from None
        # A key of its own for names and hashes, which reports show: they say nothing of the one that encrypts.
        self._marking = hmac.new(key.encode(), b"weighmaster marks", hashlib.sha256).digest()
        self.records: list[Record] = []

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, customer: str, key: str, *, making: bool = True) -> Iterator[Self]:
        """Open the file of `customer` in `folder`; the first record makes it, readable by its owner only.

        Who only reads says so by `making` False: then a customer without a file has no records, and nothing is written.

        Raises
        ------
        UsageError
            When the key does not fit, or the file was changed by somebody else.
        StoreError
            When another process has it open.
        """
        path = folder / f"{customer}{_SUFFIX}"
        store = cls(path, key)
        if not making and not path.exists():
            yield store
            return
        with only_one(path, "weighmaster suite"):
            store._load()
            yield store

    def append(self, records: Sequence[Record]) -> None:
        """Keep `records`, on the disk, all of them or none where the process is killed between two.

        Raises
        ------
        StoreError
            When they cannot be written.
        """
        start = len(self.records)
        lines = [self._fernet.encrypt(orjson.dumps([start + at, one])) + b"\n" for at, one in enumerate(records)]
        try:
            with open(self._path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(b"".join(lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written: {error.strerror}") from None
        self.records.extend(records)

    def of(self, kind: str) -> list[Record]:
        """Return the records of one kind, oldest first."""
        return [one for one in self.records if one["kind"] == kind]

    def mark(self, *parts: str) -> str:
        """Return a name for `parts` that only this customer's key can make, and that says nothing of them."""
        return hmac.new(self._marking, "\0".join(parts).encode(), hashlib.sha256).hexdigest()[:16]

    @property
    def secret(self) -> bytes:
        """What the instances of generated cases follow from."""
        return hmac.new(self._marking, b"instances", hashlib.sha256).digest()

    def _load(self) -> None:
        data = self._path.read_bytes() if self._path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(self._path, len(whole))
        for number, line in enumerate(whole.splitlines()):
            try:
                at, record = orjson.loads(self._fernet.decrypt(line))
            except InvalidToken:
                key = f"the key does not fit (the one that made the file goes into {self._variable}), or "
                why = f"{'' if number else key}the line was changed"
                raise UsageError(f"{self._path}, line {number + 1}: {why}") from None
            if at != number:
                raise UsageError(f"{self._path}, line {number + 1}: lines are missing or in another order")
            self.records.append(record)
