"""Runs the fault proxy until it is stopped."""

import asyncio
import signal
from typing import TextIO

from pydantic_core import PydanticCustomError

from jobs.event_loop import run
from jobs.lab_faults.proxy import FaultProxy
from monitor.config_fields import check_base_url
from monitor.errors import UsageError


def serve(url: str, fault: str, *, rate: float, seed: int, port: int, out: TextIO, log: TextIO) -> int:
    """Serve until SIGINT or SIGTERM; print the base URL first, and at the end what was done. Returns 0.

    Raises
    ------
    UsageError
        When the address is none, or there is no such fault.
    """
    try:
        upstream = check_base_url(url)
    except PydanticCustomError as error:
        raise UsageError(f"the URL {error.message()}; such as http://127.0.0.1:8000/v1") from None
    run(_serve(FaultProxy(upstream, fault, rate=rate, seed=seed, port=port), out, log))
    return 0


async def _serve(proxy: FaultProxy, out: TextIO, log: TextIO) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with proxy:
        out.write(proxy.url + "\n")
        out.flush()
        await stop.wait()
    told = ", ".join(f"{count} {name}" for name, count in proxy.counts.most_common()) or "nothing was asked"
    log.write(f"lab faults: {told}\n")
