"""What a page says of itself, and the list of all pages: a new page is one new file under ``dashboard/screens/``."""

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import dashboard.screens


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A page. The one with the lowest ``order`` is what opens first."""

    title: str
    question: str
    order: int


def screens() -> Sequence[tuple[str, Screen]]:
    """All pages by name of their module, in order. Each module has a `Screen` called ``SCREEN``.

    Raises
    ------
    TypeError
        When a module of the folder has none.
    """
    found = [(name, _of(name)) for _, name, _ in pkgutil.iter_modules(dashboard.screens.__path__)]
    return sorted(found, key=lambda one: (one[1].order, one[0]))


def show(file: str) -> None:
    """Draw the page in `file`: ``main()`` of its module, once it is imported under its own name.

    Streamlit runs files as ``__main__``, anew for each view; classes that are made each time could not be shared.
    """
    import_module(f"dashboard.screens.{Path(file).stem}").main()


def path_of(name: str) -> Path:
    """The file of a page: Streamlit runs files."""
    return Path(dashboard.screens.__path__[0]) / f"{name}.py"


def _of(name: str) -> Screen:
    screen = getattr(import_module(f"dashboard.screens.{name}"), "SCREEN", None)
    if not isinstance(screen, Screen):
        raise TypeError(f"dashboard/screens/{name}.py has no SCREEN: give it one (dashboard.screen.Screen)")
    return screen
