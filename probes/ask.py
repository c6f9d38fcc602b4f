"""Sends a probe's requests and decodes the captures afterwards, so that parsing never disturbs the timing."""

from collections.abc import Sequence
from functools import partial

from monitor.ports import Client, ProbeContext
from monitor.types import Capture, Exchange, Request
from monitor.wire.dispatch import decode
from probes.pool import run_bounded


async def ask(
    client: Client, requests: Sequence[Request], context: ProbeContext, *, limit: int
) -> tuple[tuple[Capture, ...], tuple[Exchange, ...]]:
    """Send `requests`, at most `limit` at a time; return captures and their exchanges in the order of `requests`."""
    finished = 0

    async def send(request: Request) -> Capture:
        nonlocal finished
        capture = await client.send(request)
        finished += 1
        context.report(finished, len(requests))
        return capture

    captures = await run_bounded([partial(send, request) for request in requests], limit=limit)
    return tuple(captures), tuple(decode(capture) for capture in captures)
