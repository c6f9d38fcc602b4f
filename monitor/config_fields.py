"""The kinds of values that the configuration file knows beside plain numbers and text.

Messages never quote a value: after expansion it may be a secret. The checker quotes what stands in the file.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from monitor.addresses import written_refusal
from monitor.tolerances import PRECISIONS, is_precision

_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd])")
MOST_S = 3650 * 86400.0
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/@]+):([0-9]{1,5})")

_DEVICE = r"^(auto|cpu|mps|cuda(:[0-9]{1,3})?|balanced|sequential)$"
_PUBLIC_KEY = r"^ed25519:[0-9a-fA-F]{64}$"
_SHA256 = r"^[0-9a-fA-F]{64}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a process listens. Port 0 means any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Base URL of this address, without a slash at the end."""
        return f"http://{self}"


def mistake(message: str, suggestion: str | None = None) -> PydanticCustomError:
    """Return an error that the checker shows word for word."""
    return PydanticCustomError("mistake", "{message}", {"message": message, "suggestion": suggestion})


def unknown(what: str, known: Collection[str]) -> PydanticCustomError:
    """Return an error for a name that does not exist; the checker adds the name and the nearest known one."""
    return PydanticCustomError("unknown", "unknown {what}", {"what": what, "known": sorted(known)})


def parse_duration(value: Any) -> float:
    """Return the seconds of ``90s``, ``10m``, ``1h`` or ``1d``.

    Raises
    ------
    PydanticCustomError
        When there is no unit, or the duration is below a second or above ten years.
    """
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise mistake("a duration needs a unit", "such as 90s, 10m, 1h or 1d")
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise mistake("is not a duration", "write a number and a unit: 90s, 10m, 1h or 1d")
    seconds = float(match[1]) * _UNIT_S[match[2]]
    if seconds < 1:
        raise mistake("is too short", "at least 1s")
    if seconds > MOST_S:
        raise mistake("is too long", "at most 3650d")
    return seconds


def parse_address(value: Any) -> Address:
    """Return the address of ``host:port`` (``[::1]:80`` for IPv6).

    Raises
    ------
    PydanticCustomError
        When it is not host:port, or the port is above 65535.
    """
    match = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[2]) > 65535:
        raise mistake("is not host:port", "such as 127.0.0.1:8317")
    return Address(host=match[1].strip("[]"), port=int(match[2]))


_FOUR_NUMBERS = re.compile(r"\d+(?:\.\d+){3}")
_NEVER_IN_URLS = frozenset(' "<>\\^`{|}')  # RFC 3986, 2


def _is_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True


def check_base_url(value: str) -> str:
    """Return the address of an API without a slash at the end.

    Raises
    ------
    PydanticCustomError
        When it is not http(s), names no host or one that is always refused, or carries credentials, a query or a
        fragment.
    """
    try:
        parts = urlsplit(value)
        port_is_fine = parts.port != 0
    except ValueError:
        raise mistake("is not a URL", "such as https://api.acme.example/v1") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_fine:
        raise mistake("is not an http(s) address", "such as https://api.acme.example/v1")
    if not parts.hostname.isascii():
        raise mistake("has a host name with other than ASCII letters", "write it as DNS has it: xn--...")
    if _FOUR_NUMBERS.fullmatch(parts.hostname) and not _is_ipv4(parts.hostname):
        raise mistake("names no IPv4 address", "four numbers of 0 to 255 without leading zeros")
    if why := written_refusal(parts.hostname, allow_private=True):
        raise mistake(f"is {why}", "write the address of an API")
    if "@" in parts.netloc:
        raise mistake("must not contain a user name or password", "put the key into api_key: ${NAME}")
    if "?" in value or "#" in value:
        raise mistake("must not contain a query or fragment", "put a key into api_key: ${NAME}")
    if not value.isprintable() or _NEVER_IN_URLS & set(value):
        raise mistake("contains blanks or characters that no address has", "such as https://api.acme.example/v1")
    return value.rstrip("/")


def check_secret(value: SecretStr | None) -> SecretStr | None:
    """Return the secret, or None when it is empty.

    Raises
    ------
    PydanticCustomError
        When no HTTP header can carry it.
    """
    text = value.get_secret_value().strip() if value else ""
    if not text:
        return None
    if not (text.isascii() and text.isprintable()):
        raise mistake("cannot be sent in a header", "the value has a line break or a character that is not ASCII")
    return SecretStr(text)


def check_proxy(value: SecretStr | None) -> SecretStr | None:
    """Return the address of a proxy without a slash at the end, or None when it is empty.

    Raises
    ------
    PydanticCustomError
        When it is not http(s)://HOST:PORT, with or without a user name and password.
    """
    text = value.get_secret_value().strip().rstrip("/") if value else ""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and bool(parts.port)
    except ValueError:
        is_address = False
    if not is_address or parts.path or parts.query or parts.fragment or not text.isprintable() or " " in text:
        raise mistake("is not the address of a proxy", "write http://HOST:PORT or https://HOST:PORT")
    return SecretStr(text)


def _among(what: str) -> Callable[[str, ValidationInfo], str]:
    def check(value: str, info: ValidationInfo) -> str:
        known: Collection[str] = (info.context or {}).get(what, ())
        if value not in known:
            raise unknown(what, known)
        return value

    return check


def _precision(value: str) -> str:
    if not is_precision(value):
        raise unknown("precision", PRECISIONS)
    return value


def _name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@+/-]*", value):
        hint = "a letter or digit, then letters, digits and . _ : @ + / -, such as acme/llama-3.3-70b"
        raise mistake("is not a usable name", hint)
    return value


def _device(value: str) -> str:
    if not re.fullmatch(_DEVICE, value):
        raise mistake("is not a device", "auto, cpu, cuda, cuda:N, mps, balanced or sequential")
    return value


def _public_key(value: str) -> str:
    if not re.fullmatch(_PUBLIC_KEY, value):
        raise mistake("is not a public key", "ed25519: and 64 hex digits, as `reference pack-key` prints it")
    return value.lower()


def _some_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    if not keys:
        raise mistake("trusts nobody", "name a public key, or leave `keys` out to take unsigned packs")
    return keys


def _sha256(value: str) -> str:
    if not re.fullmatch(_SHA256, value):
        raise mistake("is not a SHA-256", "64 hex digits, as `reference pack-inspect` prints them")
    return value.lower()


def _text(value: str) -> str:
    if not value.strip():
        raise mistake("must not be empty")
    return value


Text = Annotated[str, AfterValidator(_text)]
"""Text that is not blank."""

Name = Annotated[str, AfterValidator(_name), Field(json_schema_extra={"pattern": r"^[A-Za-z0-9][A-Za-z0-9._:@+/-]*$"})]
"""A name that is safe in addresses, tables and patterns."""

Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?[smhd]$", "examples": ["90s", "10m", "1h", "1d"]}),
]
"""Seconds, written with a unit."""

Listen = Annotated[
    Address,
    BeforeValidator(lambda value: value if isinstance(value, Address) else parse_address(value)),
    WithJsonSchema({"type": "string", "examples": ["127.0.0.1:8317"]}),
]
"""An `Address`, written host:port."""

BaseUrl = Annotated[str, AfterValidator(check_base_url), Field(json_schema_extra={"pattern": "^https?://"})]
"""The address of an API."""

Secret = Annotated[SecretStr | None, AfterValidator(check_secret)]
"""A key or token; None when there is none."""

Proxy = Annotated[SecretStr | None, AfterValidator(check_proxy)]
"""The address of a proxy, which may hold credentials; None when there is none."""

Device = Annotated[str, AfterValidator(_device), Field(json_schema_extra={"pattern": _DEVICE})]
"""Where weights run."""

PublicKey = Annotated[str, AfterValidator(_public_key), Field(json_schema_extra={"pattern": _PUBLIC_KEY})]
"""Who may sign a pack."""

PublicKeys = Annotated[tuple[PublicKey, ...], AfterValidator(_some_keys)]
"""Whom to trust: somebody. An empty list would otherwise trust everybody."""

Sha256 = Annotated[str, AfterValidator(_sha256), Field(json_schema_extra={"pattern": _SHA256})]
"""Hash of a file."""

Protocol = Annotated[str, AfterValidator(_among("protocol"))]
"""One of the protocols of the catalogue."""

DialectName = Annotated[str, AfterValidator(_among("dialect"))]
"""One of the dialects of the catalogue."""

Precision = Annotated[str, AfterValidator(_precision)]
"""What a provider says it serves."""

ReferenceName = Annotated[str, AfterValidator(_among("reference"))]
"""One of the file's references."""
