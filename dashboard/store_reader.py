"""Reads the store's HTTP API: nouns out, one kind of error. What one page alone asks, it words itself (`get`).

Every failure (nobody listens, too slow, refused, unreadable) is a `StoreError` whose message the pages show as it is.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

import httpx

from monitor.budget import Budget
from monitor.codec import decode
from monitor.comparison import Ladder
from monitor.errors import StoreError
from monitor.incident import Incident
from monitor.results import Verdict
from monitor.types import Exchange

T = TypeVar("T")

TIMEOUT = httpx.Timeout(15.0, connect=2.0)
"""Seconds. A page must say soon that nobody listens, and must outlast a comparison of 200 endpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The newest value of a metric. ``k`` of ``n`` for rates; ``value`` None where it could not be measured."""

    value: float | None
    n: int
    k: int | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointNow:
    """What the store knows about one endpoint now: newest verdict per detector, open incidents, newest metrics."""

    endpoint: str
    provider: str
    model: str
    reference: str | None = None
    precision: str | None = None
    last_run_at: datetime | None = None
    verdicts: tuple[Verdict, ...] = ()
    incidents: tuple[Incident, ...] = ()
    metrics: Mapping[str, Measured]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One bucket of a series, from ``at``: median, lowest and highest of ``n`` values.

    ``value`` None: there were runs but nothing could be measured.
    """

    at: datetime
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overview:
    endpoints: tuple[EndpointNow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchanges:
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What the store's own configuration says: budgets by endpoint, ladders by reference, and what is wrong there."""

    budgets: Mapping[str, Budget] = field(default_factory=dict)
    ladders: Mapping[str, Ladder] = field(default_factory=dict)
    trouble: str | None = None


class NotThereError(StoreError):
    """The store has no such thing, or no such read."""


class StoreReader:
    """Asks the store at `url`. Safe to share between threads; close it, or use it as a context manager.

    Parameters
    ----------
    url
        Base address, e.g. ``http://127.0.0.1:8400``.
    token
        Sent as a bearer token, and nowhere else.
    transport
        Replaces the network in tests.
    """

    def __init__(self, url: str, *, token: str | None = None, transport: httpx.BaseTransport | None = None) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            # Proxies and .netrc of the environment must not get between two processes of one service.
            self._http = httpx.Client(
                base_url=url, headers=headers, timeout=TIMEOUT, trust_env=False, transport=transport,
                verify=ssl.create_default_context(),  # of the system, or of SSL_CERT_FILE
            )  # fmt: skip
        except httpx.InvalidURL as error:
            raise StoreError(f"The store's URL cannot be read: {error}. Give one like http://127.0.0.1:8400.") from None
        self._place = _without_credentials(self._http.base_url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self._http.close()

    def overview(self) -> tuple[EndpointNow, ...]:
        """All endpoints with their newest verdicts, incidents and metrics."""
        return self.get(_Overview, "overview").endpoints

    def series(
        self, endpoint: str, metric: str, *, since: datetime, until: datetime, buckets: int = 300
    ) -> tuple[Point, ...]:
        """A metric over time, at most `buckets` points."""
        return self.get(
            _Series,
            "series",
            endpoint=endpoint,
            metric=metric,
            since=since.isoformat(),
            until=until.isoformat(),
            buckets=str(buckets),
        ).points

    def exchanges(self, endpoint: str, *, limit: int = 50, outcome: str | None = None) -> tuple[Exchange, ...]:
        """The last exchanges of an endpoint, newest first."""
        return self.get(_Exchanges, "exchanges", endpoint=endpoint, limit=str(limit), outcome=outcome).exchanges

    def get(self, kind: type[T], read: str, **params: str | None) -> T:
        """The answer of ``/api/<read>`` as `kind`; parameters that are None are not sent. Raises StoreError."""
        path = f"/api/{read}"
        body = self._fetch(path, {name: value for name, value in params.items() if value is not None})
        try:
            return decode(kind, body)
        except ValueError as error:
            raise StoreError(
                f"The store at {self._place} answered {path} with something that this dashboard cannot read ({error}). "
                "Run the store and the dashboard from the same version."
            ) from None

    def _fetch(self, path: str, params: Mapping[str, str]) -> bytes:
        try:
            response = self._http.get(path, params=params)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise StoreError(
                f"The store does not answer at {self._place} ({type(error).__name__}). "
                "Start it with `weighmaster up` or `weighmaster store`, or correct the store's URL."
            ) from None
        if response.is_success:
            return response.content
        kind = NotThereError if response.status_code == httpx.codes.NOT_FOUND else StoreError
        raise kind(_refusal(response, self._place, path))


def _refusal(response: httpx.Response, place: str, path: str) -> str:
    """Say what a refused request means for the person who looks at the page."""
    if response.status_code in {401, 403}:
        return (
            f"The store at {place} refuses this dashboard (HTTP {response.status_code}). "
            "Set WEIGHMASTER_TOKEN to a token that the store accepts and restart the dashboard."
        )
    try:
        said = decode(_Refusal, response.content).error
    except ValueError:
        said = "no reason given"
    return f"The store at {place} refused {path} (HTTP {response.status_code}): {said}"


def _without_credentials(url: httpx.URL) -> str:
    """Scheme, host and port: a user name or password in the URL must not reach a page."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None)).rstrip("/")
