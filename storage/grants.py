"""Who may do what: the store's own token everything, that of an agent only to write what it measured where it is."""

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.requests import Request

from storage.parameters import RefusedError

Tokens = Callable[[], Mapping[str, str]]
"""Vantage to the token of the agent there, as they are now."""

AGENT_READS = frozenset({"mark", "last-slots"})
"""What an agent asks: how far its records are in, and up to where its slots have rows."""

_OWN: Mapping[str, tuple[str, ...]] = {"run": ("run", "vantage"), "slot": ("vantage",), "agent": ("vantage",)}
_OTHERS = frozenset({"capture", "endpoint"})
_HEX = "[0-9a-f]{16}"


def nobody() -> Mapping[str, str]:
    """No agent has a token of its own."""
    return {}


def bearer(header: str) -> bytes | None:
    """The token in an ``Authorization`` header; None for another scheme. Its name has no case (RFC 9110, 11.1)."""
    scheme, _, given = header.strip().partition(" ")
    return given.strip().encode() if scheme.lower() == "bearer" else None


def granted(request: Request, token: str | None, agents: Tokens = nobody) -> str | None:
    """Return the vantage whose token a request shows; None for the store's own token, or where none is asked for.

    Every known token is compared, each in constant time. Raises RefusedError (401) for any other.
    """
    if token is None:
        return None
    given = bearer(request.headers.get("authorization", ""))
    shown = given or b""
    found = [where for where, one in agents().items() if hmac.compare_digest(shown, one.encode())]
    if hmac.compare_digest(shown, token.encode()):
        return None
    if given is None:
        raise RefusedError(401, "this store needs its token: send 'Authorization: Bearer ...'")
    if not found:
        raise RefusedError(401, "this is not the token of the store, nor of one of its agents: compare store.token")
    return found[0]


def check_writer(writer: str, vantage: str | None) -> None:
    """Refuse to let an agent write under a name that is not its own: it would move the mark of another."""
    if vantage is not None and not re.fullmatch(f"(agent|traffic)-{re.escape(vantage)}-{_HEX}", writer):
        raise RefusedError(
            403, f"the token of {vantage!r} may not write as {writer[:100]!r}: does the agent have another vantage, or "
            "the spool of one? give it the token of its vantage, or a new spool",
        )  # fmt: skip


def check_entries(items: Sequence[Mapping[str, Any]], vantage: str | None) -> None:
    """Refuse what an agent may not write: verdicts and alerts, and runs and slots of another vantage."""
    if vantage is None:
        return
    for index, item in enumerate(items):
        kind, said = item["kind"], item["data"]
        if kind not in _OWN and kind not in _OTHERS:
            raise RefusedError(403, f"entries[{index}]: the token of {vantage!r} may not write a {str(kind)[:40]!r}")
        for name in _OWN.get(kind, ()):
            said = said.get(name) if isinstance(said, Mapping) else None
        if kind in _OWN and said != vantage:
            raise RefusedError(
                403, f"entries[{index}]: the token of {vantage!r} may not write for the vantage {str(said)[:80]!r}"
            )
