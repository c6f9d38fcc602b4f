"""Signs of life of processes that listen nowhere: agent and judge renew a small file from their own event loop.

A file is simpler than a port: nothing to bind, nothing to guard, and a loop that hangs cannot renew it.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from jobs.version import version
from monitor.ports import Clock

EVERY_S = 10.0
STALE_S = 60.0
"""A sign older than this means: dead, or hanging."""


def sign_of(spool: Path) -> Path:
    """Return the file in which the process that owns `spool` shows that it lives."""
    return spool.with_name(f"{spool.name}.alive")


def judge_spool(spool: Path) -> Path:
    """The judge's spool lies beside the agent's."""
    return spool.with_name("judge-spool.sqlite")


def alerts_spool(spool: Path) -> Path:
    """And that of who looks after alerts."""
    return spool.with_name("alerts-spool.sqlite")


def traffic_spool(spool: Path) -> Path:
    """And that of real traffic."""
    return spool.with_name("traffic-spool.sqlite")


@asynccontextmanager
async def showing_life(
    spool: Path, clock: Clock, every_s: float = EVERY_S, *, more: Callable[[], Mapping[str, object]] = dict
) -> AsyncIterator[None]:
    """Renew the sign of life, with what `more` says, while the body runs; it goes when the process ends in order."""
    path = sign_of(spool)
    task = asyncio.create_task(_renew(path, clock, every_s, more))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        path.unlink(missing_ok=True)


async def _renew(path: Path, clock: Clock, every_s: float, more: Callable[[], Mapping[str, object]]) -> None:
    while True:
        said = {"pid": os.getpid(), "version": version(), "at": clock.now(), **more()}
        _write(path, orjson.dumps(said))
        await asyncio.sleep(every_s)


def _write(path: Path, data: bytes) -> None:
    """Write `data` as a whole; on a full disk over what is there, which takes no room: the sign has to say why."""
    unfinished = path.with_name(f"{path.name}.new")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        with suppress(OSError), path.open("r+b") as file:
            file.write(data.ljust(path.stat().st_size))


def life_of(spool: Path, now: datetime) -> Mapping[str, Any]:
    """What is known of the process that owns `spool`: ``alive``, ``reason``, ``pid``, ``version``, ``age_s``, and more.

    ``config_invalid`` is what is wrong with its configuration file, None for nothing.
    """
    try:
        said = orjson.loads(sign_of(spool).read_bytes())
        age_s = (now - datetime.fromisoformat(said["at"])).total_seconds()
        known = {"pid": said["pid"], "version": said["version"], "age_s": age_s}
        invalid, full = said.get("config_invalid"), said.get("spool_full")
    except FileNotFoundError:
        return {"alive": False, "reason": f"does not run here (no {sign_of(spool)})"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        return {"alive": False, "reason": f"{sign_of(spool)}: {error}"}
    if age_s > STALE_S:
        return {"alive": False, "reason": f"last sign of life {age_s:.0f} s ago: dead, or hanging", **known}
    if full:
        return {"alive": False, "reason": f"{spool} is full, and every slot is skipped: make room", **known}
    why = None if invalid is None else f"works with its old configuration, the file is not valid: {invalid}"
    return {"alive": True, "reason": why, "config_invalid": invalid, **known}
