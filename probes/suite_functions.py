"""Python functions of a customer's own that grade answers: imported only where the user allowed it."""

import importlib
import sys
from collections.abc import Iterable, Mapping

from monitor.errors import UsageError
from monitor.suites.grade import Function


def functions(entries: Iterable[str]) -> Mapping[str, Function]:
    """Return the functions at `entries`, ``package.module:function``.

    Raises
    ------
    UsageError
        When one cannot be imported, or is no function.
    """
    found: dict[str, Function] = {}
    for entry in sorted(set(entries)):
        if "" not in sys.path:
            sys.path.insert(0, "")  # where the command was started, as `python -m` does
        module, _, name = entry.partition(":")
        try:
            found[entry] = getattr(importlib.import_module(module), name)
        except Exception as error:  # noqa: BLE001  # a customer's module may raise anything while it is imported
            raise UsageError(f"{entry}: cannot be imported: {type(error).__name__}: {error}") from None
        if not callable(found[entry]):
            raise UsageError(f"{entry}: is no function")
    return found
