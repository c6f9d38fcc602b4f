"""Follows the configuration file while a process runs: a good change is taken; a bad one is told, no more."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from jobs.patience import set_within
from jobs.secret_files import WithSecretFiles
from jobs.settings import load_known
from monitor.config_store import StoreConfig
from monitor.config_types import Config
from monitor.errors import WeighmasterError
from monitor.ports import Clock

log = logging.getLogger(__name__)

EVERY_S = 2.0
"""How often the file is looked at. A change counts once the file has stayed as it is from one look to the next."""

Stamp = tuple[object, ...]
Work = Callable[[Config, asyncio.Event], Awaitable[None]]
"""Does what a process is for with one configuration until the event is set."""


class Following:
    """One configuration file, the configuration in force, and what is wrong with the file now.

    Parameters
    ----------
    path
        The file; the secret files that it names are watched as well.
    config
        What was read from it at the start. The file is read once more here, so that no change since then is lost.
    environ, clock
        What ``${NAME}`` stands for, and when a mistake began.
    detectors
        Whether this process runs detectors.
    """

    def __init__(
        self, path: Path, config: Config, environ: Mapping[str, str], clock: Clock, *, detectors: bool
    ) -> None:
        self.config = config
        self.invalid: str | None = None
        self.invalid_since: datetime | None = None
        self._path, self._environ, self._clock, self._detectors = path, environ, clock, detectors
        self._known = WithSecretFiles(environ, path.parent)
        self._taken: Stamp = ()
        self._seen: Stamp = ()
        self._take()

    def look(self) -> bool:
        """Return whether there is another configuration now. Reads the file only after it has changed."""
        stamp, before = self._stamp(), self._seen
        self._seen = stamp
        if stamp == self._taken or stamp != before:
            return False
        return self._take()

    def look_safely(self) -> bool:
        """Look; our own bugs are logged and change nothing, so that whoever looks goes on."""
        try:
            return self.look()
        except Exception:
            log.exception("our bug; %s is looked at again", self._path)
            return False

    @contextmanager
    def followed(self, every_s: float = EVERY_S) -> Iterator[None]:
        """Look at the file again and again, in a thread, while the body runs: for processes without an own loop."""
        stop = threading.Event()

        def follow() -> None:
            while not stop.wait(every_s):
                self.look_safely()

        thread = threading.Thread(target=follow, name="configuration")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def said(self) -> dict[str, object]:
        """What a sign of life tells of the configuration."""
        return {"config_invalid": self.invalid, "config_invalid_since": self.invalid_since}

    def _take(self) -> bool:
        found = self._read()
        if isinstance(found, str):
            self.invalid, self.invalid_since = found, self.invalid_since or self._clock.now()
            log.error(
                "%s changed and is not valid; the configuration before it stays in force:\n%s", self._path, found
            )
            return False
        if self.invalid is not None:
            log.info("%s is valid again", self._path)
        self.invalid = self.invalid_since = None
        before, self.config = self.config, _as_far_as_possible(self.config, found)
        if self.config == before:
            return False
        log.info("%s changed: the new configuration is in force", self._path)
        return True

    def _read(self) -> Config | str:
        """The configuration in the file, or what is wrong with it.

        What is written while we read gets another stamp than the one from before, and so is seen at the next look.
        Secret files that were not known have none from before: then all is read again.
        """
        while True:
            self._taken = self._seen = self._stamp()
            found = self._loaded()
            if len(self._known.asked) + 1 == len(self._taken):
                return found

    def _loaded(self) -> Config | str:
        try:
            return load_known(self._path, self._known, detectors=self._detectors)
        except WeighmasterError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # its message and its traceback may hold a key
            return f"{self._path}: cannot be read ({type(error).__name__}): our bug"

    def _stamp(self) -> Stamp:
        return tuple(_stamp_of(path) for path in (self._path, *self._known.asked))


def _stamp_of(path: Path) -> Stamp:
    try:
        found = path.stat()
    except (OSError, ValueError):  # a path with a null byte is no path
        return (path, None)
    return (path, found.st_mtime_ns, found.st_ino, found.st_size)


def _tls(store: StoreConfig) -> tuple[str | None, ...]:
    return store.tls_certificate, store.tls_key, store.tls_ca


def _as_far_as_possible(before: Config, found: Config) -> Config:
    """The new configuration, but for what a process cannot change while it runs; that is told."""
    fixed = {
        "vantage": before.vantage != found.vantage,
        "agent.spool": before.agent.spool != found.agent.spool,
        "agent.listen": before.agent.listen != found.agent.listen,
        "judge.listen": before.judge.listen != found.judge.listen,
        "store.listen": before.store.listen != found.store.listen,
        "store.path": before.store.path != found.store.path,
        "store.token": before.store.token != found.store.token,
        "store.tls_*": _tls(before.store) != _tls(found.store),
        "dashboard": before.dashboard != found.dashboard,
    }
    changed = [name for name, differs in fixed.items() if differs]
    if changed:
        log.warning("%s changed: that takes effect when the service is started again", ", ".join(changed))
    store = replace(
        found.store, listen=before.store.listen, path=before.store.path, token=before.store.token,
        tls_certificate=before.store.tls_certificate, tls_key=before.store.tls_key, tls_ca=before.store.tls_ca,
    )  # fmt: skip
    return replace(
        found, vantage=before.vantage, dashboard=before.dashboard, store=store,
        agent=replace(found.agent, spool=before.agent.spool, listen=before.agent.listen),
        judge=replace(found.judge, listen=before.judge.listen),
    )  # fmt: skip


async def with_each(following: Following, stop: asyncio.Event, work: Work, every_s: float = EVERY_S) -> None:
    """Do `work` with the configuration in force until `stop` is set; a change ends it and begins it anew."""
    while not stop.is_set():
        turn = asyncio.Event()
        watching = asyncio.create_task(_until_changed(following, stop, turn, every_s))
        try:
            await work(following.config, turn)
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching


async def _until_changed(following: Following, stop: asyncio.Event, turn: asyncio.Event, every_s: float) -> None:
    while not stop.is_set():
        await set_within(stop, every_s)
        # In a thread: reading must not hold up the loop that measures.
        if not stop.is_set() and await asyncio.to_thread(following.look_safely):
            break
    turn.set()
