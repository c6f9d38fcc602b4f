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
                log.error("%s; %d batches wait in memory and probing pauses", error, len(self._waiting))  # noqa: TRY400
                return
            self._waiting.popleft()
