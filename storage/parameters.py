"""Query parameters of the read API: taken one by one, checked, and refused by name with what is allowed."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import get_args

from monitor.types import Outcome


class RefusedError(Exception):
    """A request that cannot be answered: HTTP status and a message for people."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(message)


class Parameters:
    """The query of one request. Each accessor takes one parameter; `finish` refuses what nobody took.

    ``endpoint`` is the endpoint that was asked for, if any, so that the caller can check that it exists.
    """

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = query
        self._taken: list[str] = []
        self.endpoint: str | None = None

    def maybe(self, name: str) -> str | None:
        """Text of an optional parameter; None when absent or empty."""
        self._taken.append(name)
        return self._query.get(name) or None

    def text(self, name: str) -> str:
        """Text of a required parameter."""
        value = self.maybe(name)
        if value is None:
            raise RefusedError(400, f"parameter {name!r} is required")
        return value

    def one_endpoint(self) -> str:
        """The required ``endpoint``."""
        self.endpoint = self.text("endpoint")
        return self.endpoint

    def any_endpoint(self) -> str | None:
        """The optional ``endpoint``."""
        self.endpoint = self.maybe("endpoint")
        return self.endpoint

    def number(self, name: str, *, default: int, high: int) -> int:
        """An integer from 1 to `high`."""
        value = self.maybe(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) <= 9 and 1 <= int(value) <= high):
            raise RefusedError(400, f"parameter {name!r} must be an integer from 1 to {high}, got {value[:40]!r}")
        return int(value)

    def flag(self, name: str) -> bool:
        """``true`` or ``false`` (also 1 and 0); false when absent."""
        value = self.maybe(name) or "false"
        if value not in {"true", "false", "1", "0"}:
            raise RefusedError(400, f"parameter {name!r} must be true or false, got {value[:40]!r}")
        return value in {"true", "1"}

    def moment(self, name: str) -> datetime | None:
        """An ISO 8601 instant with its offset, in UTC."""
        value = self.maybe(name)
        if value is None:
            return None
        try:
            at = datetime.fromisoformat(value)
            if at.tzinfo is not None:
                return at.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        example = "an instant such as 2026-01-31T12:00:00Z (write + as %2B)"
        raise RefusedError(400, f"parameter {name!r} must be {example}, got {value[:40]!r}")

    def instant(self, name: str) -> datetime:
        """Like `moment`, and required."""
        at = self.moment(name)
        if at is None:
            raise RefusedError(400, f"parameter {name!r} is required")
        return at

    def outcome(self, name: str) -> str | None:
        """The name of an outcome."""
        value = self.maybe(name)
        if value is not None and value not in get_args(Outcome):
            allowed = ", ".join(get_args(Outcome))
            raise RefusedError(400, f"parameter {name!r} must be one of {allowed}; got {value[:40]!r}")
        return value

    def anything(self) -> None:
        """Take whatever else was sent: monitors append something against caches."""
        self._taken.extend(self._query)

    def finish(self) -> None:
        """Refuse parameters that this read does not have."""
        unknown = sorted(set(self._query) - set(self._taken))
        if unknown:
            allowed = ", ".join(self._taken) or "none"
            raise RefusedError(400, f"unknown parameter {unknown[0][:40]!r}; allowed: {allowed}")
