"""A store without a token answers only to the names of this machine itself.

Else a web page could point a name of its own at 127.0.0.1 (DNS rebinding) and read and write here as if it were ours.
"""

import ipaddress

import orjson
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_REFUSED = orjson.dumps({"error": "without a token this store is asked as 127.0.0.1, ::1 or localhost only"})


class OwnNames:
    """Lets requests through whose ``Host`` is a loopback address or ``localhost``; 403 for all others."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and not is_own(Headers(scope=scope).get("host", "")):
            await Response(_REFUSED, 403, media_type="application/json")(scope, receive, send)
            return
        await self._inner(scope, receive, send)


def is_own(host: str) -> bool:
    """Whether a ``Host`` header names loopback, with or without a port."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.lower() == "localhost"
