"""Where a client may connect to: what the name of an endpoint leads to is checked before every connection.

A name that somebody else controls must not lead this machine to its own cloud's metadata or into its own network
(server-side request forgery). The connection goes to the very address that was checked, so a name that changes its
mind in between gains nothing. Which addresses are refused: `monitor.addresses`.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from monitor.addresses import refusal

Address = tuple[int, tuple[Any, ...]]
"""Family and socket address."""

LookUp = Callable[[str, int], Awaitable[Sequence[Address]]]
"""What a name leads to at a port, in the order in which to try."""


class RefusedAddressError(Exception):
    """No address that may be connected to; the message says why, without an address."""


async def look_up(host: str, port: int) -> list[Address]:
    """Ask the system. Raises OSError or UnicodeError when the name leads nowhere."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Resolves and checks.

    ``allow_private`` lets names lead to private addresses. An address written out as a private or loopback one, and
    ``localhost``, are the user's own wish and need no permission; metadata and link-local addresses get none.
    """

    allow_private: bool = False
    look_up: LookUp = look_up

    async def addresses(self, host: str, port: int) -> list[Address]:
        """What `host` leads to and may be connected to; one address after the other is to be tried.

        Raises
        ------
        RefusedAddressError
            When it leads to refused addresses only.
        OSError, UnicodeError
            When it leads nowhere.
        """
        literal = is_address(host)
        found = [_literal(host, port)] if literal else await self.look_up(host, port)
        allowed = self.allow_private or literal or _is_localhost(host)
        refused = [refusal(str(address[0]), allow_private=allowed) for _, address in found]
        good = [one for one, why in zip(found, refused, strict=True) if why is None]
        if not good:
            why = next(iter(refused), None) or "no address"
            raise RefusedAddressError(f"refused: {'it is' if literal else 'its name leads to'} {why}")
        return good


def is_address(host: str) -> bool:
    """Whether `host` is an IP address as it stands, so that nobody is asked for it."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _literal(host: str, port: int) -> Address:
    return (socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET, (host, port))


def _is_localhost(host: str) -> bool:
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")
