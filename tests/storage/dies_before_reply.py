"""A store that is killed by SIGKILL after its n-th ingest was committed and before the reply leaves (`--die-at n`)."""

import argparse
import os
import signal
import socket
import sys
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from storage.api import app
from storage.store import DuckStore


class _Dying:
    def __init__(self, inner: ASGIApp, die_at: int) -> None:
        self._inner = inner
        self._left = die_at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["path"] == "/api/ingest":
                self._left -= 1
                if self._left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            await send(message)

        await self._inner(scope, receive, reply)


def main() -> None:
    """Serve until death."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", type=Path)
    parser.add_argument("--port", choices=["0"])
    parser.add_argument("--die-at", type=int)
    given = parser.parse_args()
    dying = _Dying(app(DuckStore(given.path)), given.die_at)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f'{{"url": "http://127.0.0.1:{listener.getsockname()[1]}"}}\n')
        sys.stdout.flush()
        uvicorn.Server(uvicorn.Config(dying, log_config=None, lifespan="off")).run(sockets=[listener])


if __name__ == "__main__":
    main()
