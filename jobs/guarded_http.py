"""Requests to addresses that people configure for messages: checked at connect, no redirects, bounded in time."""

import asyncio
import socket
from collections.abc import Mapping

import httpx

from monitor.addresses import refusal

LIMIT_S = 10.0
"""Longest that one request may take, from resolving the name to the status line."""


class RefusedByGuardError(Exception):
    """The request was not made, or did not come to a status: in our own words, without the address."""


async def ask(
    method: str, url: str, *, allow_private: bool, content: bytes | None = None,
    headers: Mapping[str, str] | None = None, limit_s: float = LIMIT_S,
) -> int:  # fmt: skip
    """Return the status of a request. The body of the answer is not read, and a redirect is not followed.

    The name is resolved once, the address is checked, and the connection goes to that address: a name that changes its
    mind in between gains nothing.

    Raises
    ------
    RefusedByGuardError
        When the address may not be asked, or nothing answers in time.
    """
    try:
        async with asyncio.timeout(limit_s):
            return await _ask(method, httpx.URL(url), allow_private, content, dict(headers or {}))
    except TimeoutError:
        raise RefusedByGuardError(f"no answer within {limit_s:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        raise RefusedByGuardError(f"cannot be reached ({type(error).__name__})") from None


async def _ask(method: str, url: httpx.URL, allow_private: bool, content: bytes | None, headers: dict[str, str]) -> int:
    address = await _address(url.host, url.port or (443 if url.scheme == "https" else 80), allow_private=allow_private)
    host = url.netloc.decode("ascii")
    # The certificate is still checked against the name.
    extensions = {"sni_hostname": url.host}
    async with (
        httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=LIMIT_S) as http,
        http.stream(
            method, url.copy_with(host=address), content=content, extensions=extensions,
            headers={"user-agent": "weighmaster", **headers, "host": host},
        ) as reply,
    ):  # fmt: skip
        return reply.status_code


async def _address(host: str, port: int, *, allow_private: bool) -> str:
    """The first address of `host` that may be asked."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(one[4][0]) for one in found]
    refused = [refusal(address, allow_private=allow_private) for address in addresses]
    good = next((address for address, why in zip(addresses, refused, strict=True) if why is None), None)
    if good is None:
        if not refused:
            raise RefusedByGuardError("its name leads nowhere")
        raise RefusedByGuardError(f"its {'address is' if host in addresses else 'name leads to'} {refused[0]}")
    return good
