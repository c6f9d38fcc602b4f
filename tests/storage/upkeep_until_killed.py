"""A process that ingests and tidies up again and again until somebody kills it; says on stdout after every pass."""

import sys
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from monitor.config_store import RetentionConfig
from storage.store import DuckStore
from tests.storage.factories import entries, judged, run_record


def main(path: Path) -> None:
    """One run a round, a day apart, so that every pass has rows to move, and files to join."""
    store = DuckStore(path)
    for i in count(store.mark("w") // 2):
        at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=8 * i)
        record = run_record(f"r{i}", at=at)
        store.ingest("w", entries(record, judged(record), start=2 * i + 1))
        store.upkeep(at + timedelta(hours=7), RetentionConfig())
        sys.stdout.write("passed\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
