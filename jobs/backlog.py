"""A spool that may be full or out of order: what it does not take waits in memory, so that nothing measured is lost."""

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from monitor.errors import StoreError
from monitor.ports import Spool

log = logging.getLogger(__name__)

Batch = Sequence[tuple[str, bytes]]
Notes = Mapping[str, bytes]
NONE: Notes = MappingProxyType({})


class Backlog:
    """Appends batches to a spool in order; batches that the spool refuses are kept and offered again."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self._waiting: deque[tuple[Batch, Notes]] = deque()
        self._said = False

    @property
    def full(self) -> bool:
        """Whether something waits for room in the spool."""
        return bool(self._waiting)

    @property
    def n_waiting(self) -> int:
        """Records that the store has not confirmed."""
        return self.spool.backlog() + sum(len(batch) for batch, _notes in self._waiting)

    def notes(self) -> Mapping[str, bytes]:
        """What the writer noted, with what waits."""
        found = dict(self.spool.notes())
        for _batch, notes in self._waiting:
            found.update(notes)
        return found

    def append(self, batch: Batch, notes: Notes = NONE) -> None:
        """Hand over one atomic batch, with what is to be known again after a restart."""
        self._waiting.append((batch, notes))
        self.retry()

    def retry(self) -> None:
        """Move into the spool what has room, oldest first."""
        while self._waiting:
            try:
                self.spool.append(*self._waiting[0])
            except StoreError as error:
                if not self._said:
                    log.error("%s; results wait in memory and probing pauses", error)  # noqa: TRY400
                self._said = True
                return
            self._waiting.popleft()
        if self._said:
            log.info("the spool has room again")
        self._said = False

    def say_what_is_lost(self) -> None:
        """At the end: name every record that neither the spool nor the store could take."""
        for batch, _notes in self._waiting:
            for kind, data in batch:
                log.error("lost, the spool is full and the store did not take it: %s %.200s", kind, data.decode())
