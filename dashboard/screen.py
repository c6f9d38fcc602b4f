"""What a page says of itself, and the list of all pages: a new page is one new file under ``dashboard/screens/``."""

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import streamlit as st

import dashboard.screens
from dashboard import session


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A page. The one with the lowest ``order`` is what opens first; it renews itself every ``every_s`` seconds."""

    title: str
    question: str
    order: int
    every_s: int = session.REFRESH_S


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
    """Draw the page in `file` and keep it up to date: ``main()`` of its module, or what is wrong with the store.

    Streamlit runs files as ``__main__``, anew for each view; classes that are made each time could not be shared. So
    the module is imported under its own name.
    """
    name = Path(file).stem
    module = import_module(f"dashboard.screens.{name}")

    @st.fragment(run_every=_of(name).every_s)
    def live() -> None:
        session.guarded(module.main)

    live()


def path_of(name: str) -> Path:
    """The file of a page: Streamlit runs files."""
    return Path(dashboard.screens.__path__[0]) / f"{name}.py"


def _of(name: str) -> Screen:
    screen = getattr(import_module(f"dashboard.screens.{name}"), "SCREEN", None)
    if not isinstance(screen, Screen):
        raise TypeError(f"dashboard/screens/{name}.py has no SCREEN: give it one (dashboard.screen.Screen)")
    return screen
