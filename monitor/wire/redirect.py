"""What is said of a redirect: where to, without what may be a secret."""

from urllib.parse import urlsplit

PLACE_CHARS = 200


def redirect_words(status: int, location: str | None) -> str:
    """Say that an answer with `status` leads to `location` (the header, None for none) and is not followed.

    Only scheme, host and path are shown, as one printable line: names, passwords, queries and fragments of an address
    can be worth as much as a key.
    """
    return (
        f"answers with a redirect ({status}) to {place_of(location)}, which is not followed; "
        "put the final address into base_url"
    )


def place_of(location: str | None) -> str:
    """Scheme, host and path of the address in a ``Location`` header; words where it names no host."""
    try:
        parts = urlsplit(location or "")
    except ValueError:
        return "what is no address"
    host = parts.netloc.rpartition("@")[2]
    if not host and not parts.path:
        return "no address"
    place = f"{parts.scheme or 'http'}://{host}{parts.path}" if host else f"{parts.path} at the same host"
    line = "".join(char if char.isprintable() else "?" for char in place)
    return line if len(line) <= PLACE_CHARS else f"{line[:PLACE_CHARS]}..."
