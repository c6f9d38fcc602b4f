"""What the pages share: where the store is, short-lived answers, and the state shown when the store is silent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import streamlit as st

from dashboard.store_reader import EndpointNow, NotThereError, Point, StoreReader
from monitor.errors import StoreError
from monitor.types import Exchange

T = TypeVar("T")

REFRESH_S = 5
"""How long an answer is reused and how often live parts ask again; N tabs cost the store as much as one."""

EXCHANGES = 50
"""Exchanges that the endpoint page looks at."""

SLOW_S = 60
"""How long an answer is reused that looks over days: nobody sees it move within a minute."""

BUCKETS = 1440
"""Points per chart at most: a minute each over a day; the store takes up to 2000, and Vega draws them at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the store is. ``store_url`` None: nobody said."""

    store_url: str | None
    token: str | None = None


def remember(settings: Settings) -> None:
    """Keep the settings for the pages of this browser session."""
    st.session_state["settings"] = settings


def _settings() -> tuple[str, str | None]:
    settings: Settings = st.session_state["settings"]
    if settings.store_url is None:
        raise StoreError("No store is named. Start the dashboard with `-- --store-url http://HOST:PORT`.")
    return settings.store_url, settings.token


# Leading underscores keep the token out of Streamlit's cache keys; it cannot change within a process.
@st.cache_resource(max_entries=4, show_spinner=False, on_release=StoreReader.close)
def _reader(url: str, _token: str | None) -> StoreReader:
    return StoreReader(url, token=_token)


# Answers are frozen: tabs may share them as they are, and copying 200 endpoints for each view would take longer than
# the view.
@st.cache_resource(ttl=REFRESH_S, max_entries=4, show_spinner=False)
def _overview(url: str, _token: str | None) -> tuple[EndpointNow, ...]:
    return _reader(url, _token).overview()


@st.cache_resource(ttl=REFRESH_S, max_entries=64, show_spinner=False)
def _series(
    url: str, _token: str | None, endpoint: str, metric: str, until: datetime, window: timedelta
) -> tuple[Point, ...]:
    return _reader(url, _token).series(endpoint, metric, since=until - window, until=until, buckets=BUCKETS)


@st.cache_resource(ttl=REFRESH_S, max_entries=16, show_spinner=False)
def _exchanges(url: str, _token: str | None, endpoint: str) -> tuple[Exchange, ...]:
    return _reader(url, _token).exchanges(endpoint, limit=EXCHANGES)


@st.cache_resource(ttl=REFRESH_S, max_entries=64, show_spinner=False)
def _soon(url: str, _token: str | None, _kind: type[T], _name: str, read: str, params: tuple[Any, ...]) -> T:
    return _reader(url, _token).get(_kind, read, **dict(params))


@st.cache_resource(ttl=SLOW_S, max_entries=64, show_spinner=False)
def _later(url: str, _token: str | None, _kind: type[T], _name: str, read: str, params: tuple[Any, ...]) -> T:
    return _reader(url, _token).get(_kind, read, **dict(params))


def ask(kind: type[T], read: str, *, slow: bool = False, **params: str | None) -> T:
    """The answer of a read of the store as `kind`, reused for `REFRESH_S` (`SLOW_S` if slow). Raises StoreError."""
    asked = _later if slow else _soon
    return asked(*_settings(), kind, kind.__qualname__, read, tuple(sorted(params.items())))


def maybe(kind: type[T], read: str, *, slow: bool = False, **params: str | None) -> T | None:
    """Like `ask`, but None where the store says that there is no such thing (also no such read)."""
    try:
        return ask(kind, read, slow=slow, **params)
    except NotThereError:
        return None


def window(back: timedelta, *, step: timedelta = timedelta(minutes=1)) -> tuple[str, str]:
    """Both ends of the last `back` as parameters, on whole steps so that refreshes and tabs share answers."""
    until = next_edge(datetime.now(UTC), step)
    return (until - back).isoformat(), until.isoformat()


def overview() -> tuple[EndpointNow, ...]:
    """All endpoints as the store knows them now. Raises StoreError."""
    return _overview(*_settings())


def series(endpoint: str, metric: str, window: timedelta) -> tuple[Point, ...]:
    """A metric over the last `window`. Raises StoreError."""
    return _series(*_settings(), endpoint, metric, next_edge(datetime.now(UTC), window / BUCKETS), window)


def next_edge(now: datetime, width: timedelta) -> datetime:
    """The end of the bucket that `now` is in. Fixed edges: no point moves between refreshes, and tabs share answers."""
    return now + width - (now - datetime.fromtimestamp(0, UTC)) % width


def exchanges(endpoint: str) -> tuple[Exchange, ...]:
    """The last exchanges of an endpoint, newest first. Raises StoreError."""
    return _exchanges(*_settings(), endpoint)


def guarded(draw: Callable[[], None]) -> None:
    """Draw, or say what is wrong with the store. The error is text from elsewhere, so it is never Markdown."""
    try:
        draw()
    except StoreError as error:
        with st.container(border=True):
            st.subheader(":material/cloud_off: No answer from the store", anchor=False)
            st.text(str(error))
            st.caption(f"Nothing is lost: probes keep their results. This page asks again every {REFRESH_S} seconds.")


def nothing_yet() -> None:
    """Say how to get the first endpoint onto the page."""
    with st.container(border=True):
        st.subheader(":material/hourglass_empty: No endpoints yet", anchor=False)
        st.markdown("The store is running and empty. See it work on local endpoints, or watch one of your own:")
        st.code(
            "weighmaster demo\n\nweighmaster init https://HOST/v1   # writes a config\nweighmaster up",
            language=None, wrap_lines=True,
        )  # fmt: skip
