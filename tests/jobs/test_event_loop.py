"""Which event loop runs. Oracle: the loop that the coroutine finds itself on."""

import asyncio
import sys
from types import ModuleType

import pytest

from jobs.event_loop import loop_factory, run


async def loop_name() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_asyncio_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.event_loop.find_spec", lambda _: None)
    assert loop_factory() is None
    assert run(loop_name()).startswith("asyncio.")


def test_uvloop_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in, since uvloop is no dependency."""

    class Loop(asyncio.SelectorEventLoop):
        __module__ = "uvloop"

    stand_in = ModuleType("uvloop")
    stand_in.new_event_loop = Loop  # type: ignore[attr-defined]  # made up here
    monkeypatch.setitem(sys.modules, "uvloop", stand_in)
    monkeypatch.setattr("jobs.event_loop.find_spec", lambda _: stand_in)
    assert run(loop_name()) == "uvloop"
