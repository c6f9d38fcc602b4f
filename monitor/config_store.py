"""The section ``store`` of the configuration: where it is, who may ask it, and how long it keeps what."""

import ipaddress
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from monitor.config_check import Checker
from monitor.config_fields import Address, Listen, Name, Secret, Text, parse_duration
from monitor.config_source import Path

_AT = Address(host="127.0.0.1", port=8317)
_DAY_S = 86400.0
FOREVER = float("inf")


def _age(value: Any) -> float:
    match value:
        case "forever":
            return FOREVER
        case "none":
            return 0.0
        case _:
            return parse_duration(value)


Age = Annotated[
    Any,
    BeforeValidator(_age),
    WithJsonSchema({"type": "string", "pattern": r"^(forever|none|[0-9]+(\.[0-9]+)?[smhd])$"}),
]
"""Seconds; ``forever`` is infinite, ``none`` is zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionConfig:
    """How long the store keeps each kind, in seconds: ``forever``, a duration, or ``none``."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    numbers: Annotated[Age, Field(json_schema_extra={"default": "forever"})] = FOREVER
    """Runs, exchanges, observations, slots and judgements. Verdicts and incidents are kept for ever."""
    captures: Annotated[Age, Field(json_schema_extra={"default": "30d"})] = 30 * _DAY_S
    """Captures and token arrays; ``none`` keeps no captures, and the arrays for a day."""
    failures: Annotated[Age, Field(json_schema_extra={"default": "90d"})] = 90 * _DAY_S
    """The same where an exchange failed, or where a verdict of fail or suspect rests on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentToken:
    """The token of one agent in another place."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    vantage: Name
    """The `vantage` of that agent's configuration: for no other may it write."""
    token: Secret
    """What it shows, written as ${NAME}; `store.token` in its own configuration."""


_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # where the machine itself finds what listens so


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """The process that owns the database."""

    path: Text = "weighmaster-data/weighmaster.duckdb"
    """The DuckDB file; relative paths count from the working directory."""
    listen: Listen = _AT
    """host:port of the store's API; port 0 takes any free one. Beyond loopback it needs a token."""
    token: Secret = None
    """Bearer token that writers and readers must show, written as ${NAME}; absent: none is asked for."""
    agents: tuple[AgentToken, ...] = ()
    """Agents with tokens of their own: such a token may only write what was measured at its vantage."""
    tls_certificate: Text | None = None
    """PEM file with the certificate of the store (and those between it and the root): it then speaks HTTPS only."""
    tls_key: Text | None = None
    """PEM file with the key of `tls_certificate`, without a passphrase."""
    tls_ca: Text | None = None
    """PEM file with the roots that vouch for the store; absent: those of the system."""
    retention: RetentionConfig = RetentionConfig()
    """How long what is kept."""
    snapshots: Annotated[int, Field(ge=0, le=1000)] = 2
    """Daily snapshots that are kept beside the database; 0 makes none."""

    @property
    def url(self) -> str:
        """Where the store answers, as its own machine sees it."""
        return self.url_at(self.listen)

    def url_at(self, address: Address) -> str:
        """Base address of a store that listens at `address`; "all addresses" is no name that a certificate has."""
        own = replace(address, host=_EVERYWHERE.get(address.host, address.host))
        return f"{'https' if self.tls_certificate else 'http'}://{own}"

    @property
    def agent_tokens(self) -> dict[str, str]:
        """Tokens of agents in clear, by vantage."""
        return {one.vantage: one.token.get_secret_value() for one in self.agents if one.token}

    @property
    def bearer(self) -> str | None:
        """The token in clear, for the header of a request; None when none is asked for."""
        return self.token.get_secret_value() if self.token else None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens at `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_store(checker: Checker, path: Path, store: StoreConfig | None) -> StoreConfig | None:
    """Refuse a store that everybody could write to, and half a key pair."""
    if store is None:
        return None
    if (store.tls_certificate is None) != (store.tls_key is None):
        checker.add(path, "has only one of tls_certificate and tls_key", "give both, or none")
    if store.agents and store.token is None:
        checker.add((*path, "agents"), "need a token of the store itself", "set store.token to ${NAME}")
    vantages = [one.vantage for one in store.agents]
    for name in sorted({one for one in vantages if vantages.count(one) > 1}):
        checker.add((*path, "agents"), f"names the vantage {name} twice", "one token per vantage")
    if store.token is None and not is_loopback(store.listen.host):
        checker.add(
            (*path, "listen"), "can be reached from other machines, and there is no token",
            "set store.token to ${NAME}, or listen on 127.0.0.1",
        )  # fmt: skip
    return store
