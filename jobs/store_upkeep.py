"""The store's own housekeeping, in a thread of its process: evidence into files, retention, daily snapshots."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from monitor.config_store import StoreConfig
from monitor.errors import StoreError
from monitor.ports import Clock
from storage.snapshots import PASSING, labelled, place_of, prune, prune_before
from storage.store import DuckStore

log = logging.getLogger(__name__)

EVERY_S = 3600.0
FIRST_AFTER_S = 30.0
"""The first pass waits until those who were waiting for the store have been served."""
DAILY = "daily"
_DAY = timedelta(days=1)


class Housekeeping:
    """Passes over one store. What it keeps is asked for at every pass: the configuration may have changed."""

    def __init__(self, store: DuckStore, config: Callable[[], StoreConfig], clock: Clock) -> None:
        self._store, self._config, self._clock = store, config, clock

    def look(self) -> None:
        """One pass; what cannot be done now is said and tried at the next."""
        for work in (self._tidy, self._copy):
            try:
                work()
            except (StoreError, OSError) as error:
                log.error("upkeep of the store: %s", error)  # noqa: TRY400  # the message says all

    def _tidy(self) -> None:
        done = self._store.upkeep(self._clock.now(), self._config().retention)
        if done.moved or done.joined or done.dropped or done.deleted:
            log.info(
                "upkeep: %d rows moved into files, %d files joined, %d files and %d rows dropped by age",
                done.moved, done.joined, done.dropped, done.deleted,
            )  # fmt: skip

    def _copy(self) -> None:
        config, now = self._config(), self._clock.now()
        keep, place = config.snapshots, place_of(Path(config.path))
        ours = labelled(place, DAILY)
        if keep and (not ours or now - ours[-1].taken_at >= _DAY):
            log.info("snapshot: %s", self._store.snapshot(now, DAILY).folder)
        prune(place, DAILY, keep)
        prune_before(place, PASSING, now - _DAY)  # of commands that were killed, or may not remove what the store made

    @contextmanager
    def going_on(self, every_s: float = EVERY_S, first_s: float = FIRST_AFTER_S) -> Iterator[None]:
        """Pass again and again while the body runs."""
        stop = threading.Event()

        def work() -> None:
            wait_s = first_s
            while not stop.wait(wait_s):
                self.look()
                wait_s = every_s

        thread = threading.Thread(target=work, name="upkeep")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
