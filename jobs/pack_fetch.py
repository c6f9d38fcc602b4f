"""Fetches packs over HTTP: whole or not at all, of bounded size and time, kept by the hash of what they are."""

import hashlib
import os
import time
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from monitor.errors import GoldenError

MOST_BYTES = 4 << 30
"""Largest pack that is fetched."""

LIMIT_S = 600.0
"""Longest that fetching one may take."""

_SILENCE_S = 30.0


def fetched(url: str, *, sha256: str | None, cache: Path) -> bytes:
    """Return the bytes behind `url`. Where `sha256` is pinned, what the folder `cache` holds of it is not asked for.

    Nothing in the bytes is looked at: who uses them checks hash and signature first.

    Raises
    ------
    GoldenError
        When the answer is no success, a redirect, too large, too slow, or there is none.
    """
    kept = None if sha256 is None else cache / f"{sha256.lower()}.pack"
    if kept is not None and kept.is_file():
        data = kept.read_bytes()
        if hashlib.sha256(data).hexdigest() == kept.stem:
            return data
    data = download(url)
    if kept is not None and hashlib.sha256(data).hexdigest() == kept.stem:
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / f".{kept.name}.{os.getpid()}"
        try:
            fresh.write_bytes(data)
            fresh.replace(kept)
        finally:
            fresh.unlink(missing_ok=True)
    return data


def download(url: str, *, most_bytes: int = MOST_BYTES, limit_s: float = LIMIT_S) -> bytes:
    """Return the body of a GET. Raises GoldenError as `fetched`."""
    ends_ns = time.perf_counter_ns() + round(limit_s * 1e9)
    headers = {"user-agent": "weighmaster", "accept-encoding": "identity"}
    parts: list[bytes] = []
    n_bytes = 0
    try:
        with (
            httpx.Client(timeout=min(limit_s, _SILENCE_S), follow_redirects=False, trust_env=False) as http,
            http.stream("GET", url, headers=headers) as reply,
        ):
            _check(url, reply)
            for part in reply.iter_raw():
                n_bytes += len(part)
                if n_bytes > most_bytes:
                    raise GoldenError(f"{url}: more than {most_bytes} bytes, which no pack has; is it the right file?")
                if time.perf_counter_ns() > ends_ns:
                    raise GoldenError(f"{url}: not whole after {limit_s:g} s; fetch it yourself, and give its path")
                parts.append(part)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise GoldenError(f"{url}: {str(error) or type(error).__name__}; the pack cannot be fetched") from error
    return b"".join(parts)


def _check(url: str, reply: httpx.Response) -> None:
    if reply.is_redirect:
        place = _place(url, reply.headers.get("location", ""))
        raise GoldenError(f"{url}: redirects to {place}; give the address behind it if you trust it")
    if reply.status_code != httpx.codes.OK:
        raise GoldenError(f"{url}: HTTP {reply.status_code}; is the address right?")
    if reply.headers.get("content-encoding", "identity") != "identity":
        raise GoldenError(f"{url}: comes with a content encoding, so its bytes are not the pack's; serve it as it is")


def _place(url: str, location: str) -> str:
    """Scheme, host and path of where `url` redirects to: the rest may hold a token."""
    try:
        parts = urlsplit(urljoin(url, location))
    except ValueError:
        return "what is no address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
