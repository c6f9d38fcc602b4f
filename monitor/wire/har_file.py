"""One entry of an HTTP archive (HAR 1.2), as browsers and proxies export them.

Request headers are not read, since keys are in them. A HAR has no times within the body: the capture of an event
stream has no clock, only the durations of DNS, connect and TLS.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from monitor.errors import UsageError
from monitor.types import Capture, Read
from monitor.wire.body import sniff

_NS_PER_MS = 1e6
_MAX_MS = 1e9
_UNDONE = frozenset({"content-encoding", "transfer-encoding", "content-length"})
"""Headers of the transfer, which a HAR has undone."""


def load_har(data: bytes, index: int | None) -> Capture:
    """Return the capture of entry `index` (from 0); None takes the only one.

    Raises
    ------
    UsageError
        When `data` is no HAR, or the entry is not in it; names the place and the remedy.
    """
    entries = _entries(data)
    if index is None and len(entries) > 1:
        raise UsageError(f"{len(entries)} entries: say which one with --index, 0 to {len(entries) - 1}")
    number = index or 0
    if not 0 <= number < len(entries):
        raise UsageError(f"no entry {number}: there are {len(entries)}, counted from 0")
    place = f"log.entries[{number}]"
    return _capture(_given(entries[number], place), place)


def n_entries(data: bytes) -> int:
    """Number of entries. Raises UsageError when `data` is no HAR."""
    return len(_entries(data))


def _entries(data: bytes) -> list[Any]:
    try:
        document = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise UsageError(f"not a HAR ({error}): export the exchange as HAR 1.2") from None
    entries = _object(_object(document).get("log")).get("entries")
    if not isinstance(entries, list) or not entries:
        raise UsageError("log.entries is no list, or empty: export the exchange as HAR 1.2")
    return entries


def _capture(entry: Mapping[str, Any], place: str) -> Capture:
    response, timings = _given(entry.get("response", {}), f"{place}.response"), _object(entry.get("timings"))
    connect_ns, tls_ns = _duration(timings, "connect"), _duration(timings, "ssl")
    if connect_ns is not None and tls_ns is not None:
        connect_ns = max(connect_ns - tls_ns, 0)  # HAR counts TLS within connect
    known: dict[str, Any] = {
        "sent": _text(_object(_object(entry.get("request")).get("postData")).get("text")).encode("utf-8", "replace"),
        "started_at": _instant(entry.get("startedDateTime")),
        "dns_ns": _duration(timings, "dns"),
        "connect_ns": connect_ns,
        "tls_ns": tls_ns,
    }
    status = response.get("status")
    if status is not None and type(status) is not int:
        raise UsageError(f"{place}.response.status is no whole number: export the exchange as HAR 1.2")
    if status is None or not 100 <= status <= 599:
        words = _text(response.get("_error")) or _text(entry.get("_error"))
        return Capture(**known, end="connect_error", error=words or None)
    body = _body(_object(response.get("content")), place, needed=status < 300)
    return Capture(**known, status=status, headers=_headers(response.get("headers")), **_reads(timings, body))


def _reads(timings: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """The body as one read. It gets a clock only where no time within it is wanted."""
    phases = [_duration(timings, name) for name in ("send", "wait", "receive")]
    if sniff(body, "") == "sse" or None in phases:
        return {"reads": (Read(0, body),) if body else ()}
    sent, waited, received = (ns or 0 for ns in phases)
    end = sent + waited + received
    return {
        "reads": (Read(end, body),) if body else (),
        "t0_ns": 0,
        "sent_ns": sent,
        "first_byte_ns": sent + waited,
        "eof_ns": end,
    }


def _body(content: Mapping[str, Any], place: str, *, needed: bool) -> bytes:
    """The body; that of an error may be missing. One that was not saved is not the same as one without a byte."""
    text = content.get("text")
    if text is None and (not needed or content.get("size") == 0):
        return b""
    if not isinstance(text, str):
        raise UsageError(
            f"{place}.response.content.text is {'missing' if text is None else 'no text'}: the body was not saved; "
            "export the exchange as HAR with content"
        )
    if content.get("encoding") != "base64":
        return text.encode("utf-8", "replace")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"{place}.response.content.text is not base64 as it says: export it again") from None


def _headers(listed: Any) -> tuple[tuple[str, str], ...]:
    found = [_object(item) for item in listed] if isinstance(listed, list) else []
    pairs = [(_text(item.get("name")), _text(item.get("value"))) for item in found]
    return tuple((name, value) for name, value in pairs if name and name.lower() not in _UNDONE)


def _duration(timings: Mapping[str, Any], name: str) -> int | None:
    """A phase in ns; None where HAR says -1 (it did not take place) or nothing usable."""
    ms = timings.get(name)
    if isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 <= ms <= _MAX_MS:
        return None
    return round(ms * _NS_PER_MS)


def _instant(text: Any) -> datetime | None:
    try:
        at = datetime.fromisoformat(_text(text))
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def _given(value: Any, place: str) -> Mapping[str, Any]:
    """An object that has to be one; null says that there was none."""
    if value is not None and not isinstance(value, dict):
        raise UsageError(f"{place} is no object: export the exchange as HAR 1.2")
    return value or {}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
