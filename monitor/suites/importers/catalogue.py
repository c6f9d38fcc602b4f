"""All importers, and the choice of the one that fits a file."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import monitor.suites.importers
from monitor.catalogue import scan
from monitor.errors import UsageError
from monitor.suites.importers.imported import Imported, Importer, finished
from monitor.suites.importers.texts import document, objects

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
    chosen = form if form != AUTO else format_of(text)
    if chosen is None:
        names = ", ".join(sorted(known))
        raise UsageError(f"the format is not recognised ({_seen(text)}); name it with --format ({names})")
    return chosen, finished(known[chosen].read(text, beside), name, defaults or {})


def format_of(text: str) -> str | None:
    """Return the name of the format that `text` looks like; None where it looks like none of another program."""
    return next((kind for kind, one in importers().items() if one.recognises(text)), None)


def _seen(text: str) -> str:
    """What the file looks like, for whoever has to find out why it is none of the formats."""
    told: list[str] = []
    try:
        if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
            return f"its keys are {', '.join(list(document(text))[:8])}"
        first = next((one for _, one in objects(text, lambda where, what: told.append(f"{where}: {what}"))), {})
    except UsageError as error:
        return str(error)
    return told[0] if told else f"its first object has the keys {', '.join(list(first)[:8]) or '-'}"
