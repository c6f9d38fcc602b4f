"""All importers, and the choice of the one that fits a file."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import monitor.suites.importers
from monitor.catalogue import scan
from monitor.errors import UsageError
from monitor.suites.importers.imported import Imported, Importer, finished

AUTO = "auto"


@lru_cache(maxsize=1)
def importers() -> dict[str, Importer]:
    """Return the importers by the name of their format."""
    return {kind: one() for kind, one in scan(monitor.suites.importers, "IMPORTER").items()}


def imported(
    text: str, name: str, *, form: str = AUTO, beside: str | None = None, defaults: Mapping[str, Any] | None = None
) -> tuple[str, Imported]:
    """Return the format of `text` and the suite in it.

    Raises
    ------
    UsageError
        When the format is unknown, not recognised, or cannot be read.
    """
    known = importers()
    if form not in {AUTO, *known}:
        raise UsageError(f"--format {form}: must be auto or one of {', '.join(sorted(known))}")
    chosen = form if form != AUTO else next((kind for kind, one in known.items() if one.recognises(text)), None)
    if chosen is None:
        raise UsageError(f"{name}: the format is not recognised; name it with --format ({', '.join(sorted(known))})")
    return chosen, finished(known[chosen].read(text, beside), name, defaults or {})
