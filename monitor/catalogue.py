"""Finds what a package offers: one file per thing, no registries to edit, no import side effects."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def scan(package: ModuleType, constant: str) -> dict[str, Any]:
    """Import the public modules of `package` and return the values of their `constant` by its ``kind``.

    Raises
    ------
    RuntimeError
        When two modules claim the same kind (our bug).
    """
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        thing = getattr(module, constant, None)
        if thing is None:
            continue
        if thing.kind in found:
            raise RuntimeError(f"{package.__name__}: two modules define kind {thing.kind!r}")
        found[thing.kind] = thing
    return found
