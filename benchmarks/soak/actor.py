"""One process of a soak: ``python -m benchmarks.soak.actor agent|judge|store|endpoints FOLDER``."""

import asyncio
import json
import signal
import sys
from pathlib import Path

from benchmarks.soak.world import SoakClock, config
from jobs.agent import Agent
from jobs.backlog import Backlog
from jobs.clients import client_of
from jobs.service import begin
from jobs.store_client import client_for
from probes.heartbeat import Heartbeat
from storage.spool import SqliteSpool

_EVENTS = (
    '{"choices":[{"index":0,"delta":{"content":"hi"}}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}',
    "[DONE]",
)
_BODY = "".join(f"data: {event}\n\n" for event in _EVENTS)
_HEAD = "HTTP/1.1 {} X\r\ncontent-type: {}\r\n{}content-length: {}\r\n\r\n{}"
GOOD = _HEAD.format(200, "text/event-stream", "", len(_BODY), _BODY).encode()
BAD = _HEAD.format(503, "application/json", "", 2, "{}").encode()
LATER = _HEAD.format(429, "application/json", "retry-after: 120\r\n", 2, "{}").encode()


def _stopping() -> asyncio.Event:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    return stop


async def agent(folder: Path) -> None:
    """The agent, over real HTTP, SQLite and sockets."""
    chosen, clock = config(folder), SoakClock(folder)
    spool = SqliteSpool(Path(chosen.agent.spool), writer="agent-soak")
    store = client_for(chosen.store, chosen.store.url)
    async with Heartbeat(clock).beating() as heartbeat:
        await Agent(
            chosen, Backlog(spool), store, clock, lambda entry: client_of(entry, clock, heartbeat), speed=clock.speed
        ).run(_stopping())
    await store.aclose()
    spool.close()


async def judge(folder: Path) -> None:
    """Judge and rules of alerting, each with its spool."""
    from jobs.judge import Judge  # noqa: PLC0415  # the agent has none of it
    from jobs.notify import Notifier  # noqa: PLC0415  # the agent has none of it
    from jobs.notify_routes import sender_of  # noqa: PLC0415  # the agent has none of it
    from jobs.references import scorer_for  # noqa: PLC0415  # the agent has none of it

    chosen, clock, stop = config(folder), SoakClock(folder), _stopping()
    store = client_for(chosen.store, chosen.store.url)
    judging = Judge(chosen, SqliteSpool(folder / "judge.sqlite", writer="judge"), store, clock, scorer_for)
    senders = {route.name: sender_of(route, clock) for route in chosen.alerts.routes}
    notifier = Notifier(chosen, SqliteSpool(folder / "alerts.sqlite", writer="alerts"), store, clock, senders)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(judging.run(stop))
        tasks.create_task(notifier.run(stop))
    judging.close()
    await store.aclose()


def store(folder: Path) -> None:
    """The store."""
    from jobs.store_process import serve  # noqa: PLC0415  # the agent has none of it
    from jobs.store_upkeep import EVERY_S  # noqa: PLC0415  # the agent has none of it

    chosen, clock = config(folder).store, SoakClock(folder)
    serve(chosen, chosen.listen.port, ready=print, clock=clock, upkeep_every_s=EVERY_S / clock.speed)


async def endpoints(folder: Path) -> None:
    """All providers; the file ``faults`` says which of them answer 429 or 503."""
    faults: dict[str, str] = {}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = next(
                    (int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"), 0
                )
                await reader.readexactly(size)
                provider = head.split(b" ")[1].split(b"/")[1].decode()
                writer.write({"429": LATER, "503": BAD}.get(faults.get(provider, ""), GOOD))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    stop = _stopping()
    while not stop.is_set():
        if (folder / "faults").exists():
            faults = json.loads((folder / "faults").read_text() or "{}")
        await asyncio.sleep(0.1)
    server.close()


def main(what: str, folder: Path) -> None:
    """Be one of them."""
    begin()
    if what == "store":
        store(folder)
    else:
        asyncio.run({"agent": agent, "judge": judge, "endpoints": endpoints}[what](folder))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
