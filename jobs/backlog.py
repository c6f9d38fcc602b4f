"""A spool that may be full: what does not fit waits in memory, so that nothing measured is lost."""

import logging
from collections import deque
from collections.abc import Sequence

from monitor.errors import SpoolFullError
from monitor.ports import Spool

log = logging.getLogger(__name__)

Batch = Sequence[tuple[str, bytes]]


class Backlog:
    """Appends batches to a spool in order; batches that the spool refuses are kept and offered again."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self._waiting: deque[Batch] = deque()
        self._said = False

    @property
    def full(self) -> bool:
        """Whether something waits for room in the spool."""
        return bool(self._waiting)

    def append(self, batch: Batch) -> None:
        """Hand over one atomic batch."""
        self._waiting.append(batch)
        self.retry()

    def retry(self) -> None:
        """Move into the spool what has room, oldest first."""
        while self._waiting:
            try:
                self.spool.append(self._waiting[0])
            except SpoolFullError as error:
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
        for batch in self._waiting:
            for kind, data in batch:
                log.error("lost, the spool is full and the store did not take it: %s %.200s", kind, data.decode())
