"""The kinds of values that only the section ``alerts`` knows."""

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr, WithJsonSchema

from monitor.alerting.nouns import Count
from monitor.config_fields import mistake

_COUNT = re.compile(r"([1-9][0-9]?) of ([1-9][0-9]?)")


def parse_count(value: Any) -> Count:
    """Return the count of ``2 of 3``.

    Raises
    ------
    PydanticCustomError
        When it is not ``N of M`` with N at most M.
    """
    match = _COUNT.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > int(match[2]):
        raise mistake("is not N of M", "such as 2 of 3, where N is at most M and M below 100")
    return Count(n=int(match[1]), m=int(match[2]))


def check_hook_url(value: SecretStr) -> SecretStr:
    """Return an http(s) address that may hold a token in its path or query.

    Raises
    ------
    PydanticCustomError
        When it is not http(s), names no host, or carries a user name or a fragment.
    """
    text = value.get_secret_value().strip()
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or "@" in parts.netloc or parts.fragment or not text.isprintable() or " " in text:
        raise mistake("is not an http(s) address", "such as https://hooks.acme.example/weighmaster")
    return SecretStr(text)


def check_key(value: SecretStr) -> SecretStr:
    """Return what must not be empty.

    Raises
    ------
    PydanticCustomError
        When it is.
    """
    if not value.get_secret_value().strip():
        raise mistake("must not be empty")
    return SecretStr(value.get_secret_value().strip())


CountText = Annotated[
    Count,
    BeforeValidator(lambda value: value if isinstance(value, Count) else parse_count(value)),
    WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]? of [1-9][0-9]?$", "examples": ["2 of 3"]}),
]
"""N of M."""

HookUrl = Annotated[SecretStr, AfterValidator(check_hook_url)]
"""An address that may hold a token: it is never shown."""

SigningKey = Annotated[SecretStr, AfterValidator(check_key)]
"""What signs, or an address that is a secret as a whole."""
