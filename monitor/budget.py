"""What an endpoint may cost per day, and what it has cost. Days are UTC days. Pure.

A run is reserved at the most that it can cost before it starts, and settled at what it did cost. A prober that is
killed in between keeps the reservation: a budget is never overspent because somebody forgot.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from monitor.types import Endpoint, Exchange
from monitor.wire.usage import read_usage

_MILLION = 1e6
_REFUSED = frozenset({"rate_limited", "quota_exhausted", "auth_error", "unsupported_param", "http_4xx", "http_5xx",
                      "redirect"})  # fmt: skip
_NOT_REACHED = frozenset({"connect_error", "address_refused", "tls_trust", "tls_dropped", "not_run"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Most tokens (prompt and output together) and most USD of a UTC day; None is without bound."""

    tokens: int | None = None
    usd: float | None = None

    def __bool__(self) -> bool:
        """Whether there is any bound."""
        return self.tokens is not None or self.usd is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Tokens and money. ``usd`` None where a price is unknown."""

    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of both directions."""
        return self.tokens_in + self.tokens_out

    def plus(self, other: "Amount") -> "Amount":
        """Return the sum; money is unknown when it is unknown on either side."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Amount(
            tokens_in=self.tokens_in + other.tokens_in, tokens_out=self.tokens_out + other.tokens_out, usd=usd
        )

    def minus(self, other: "Amount") -> "Amount":
        """Return what is left of this after `other`, at least nothing."""
        usd = None if self.usd is None or other.usd is None else max(self.usd - other.usd, 0.0)
        return Amount(
            tokens_in=max(self.tokens_in - other.tokens_in, 0),
            tokens_out=max(self.tokens_out - other.tokens_out, 0), usd=usd,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one endpoint has cost on one UTC day, reservations included."""

    day: date
    amount: Amount = Amount()

    def on(self, at: datetime) -> "Spent":
        """Return the account of the day of `at`: this one, or a fresh one. A clock set back opens no new day."""
        day = at.astimezone(UTC).date()
        return self if day <= self.day else Spent(day=day)

    def reserved(self, amount: Amount) -> "Spent":
        """Return the account with `amount` reserved."""
        return replace(self, amount=self.amount.plus(amount))

    def settled(self, reserved: Amount, cost: Amount) -> "Spent":
        """Return the account with `cost` in the place of `reserved`."""
        return replace(self, amount=self.amount.minus(reserved).plus(cost))


def priced(endpoint: Endpoint, tokens_in: int, tokens_out: int) -> Amount:
    """Return tokens with what they cost; unknown where tokens are used whose price is unknown."""
    used = [(n, price) for n, price in
            ((tokens_in, endpoint.price_in_usd), (tokens_out, endpoint.price_out_usd)) if n]  # fmt: skip
    known = [n * price / _MILLION for n, price in used if price is not None]
    usd = sum(known) if len(known) == len(used) else None
    return Amount(tokens_in=tokens_in, tokens_out=tokens_out, usd=usd)


def cost_of(endpoint: Endpoint, exchanges: Iterable[Exchange], planned: Amount) -> Amount:
    """Return what the exchanges of a run cost, as the endpoint counted.

    Without usage, a request counts as its share of what was `planned`, however it ended: a model works on for a client
    that no longer waits. Nothing counts one that was refused, or was never sent.
    """
    asked = list(exchanges)
    tokens_in = tokens_out = 0
    for exchange in asked:
        usage = read_usage(exchange.usage or {})
        told = usage.input_total, usage.generated
        share = planned.tokens_in // len(asked), planned.tokens_out // len(asked)
        if _may_cost(exchange):
            tokens_in += int(told[0]) if told[0] is not None else share[0]
            tokens_out += int(told[1]) if told[1] is not None else share[1]
    return priced(endpoint, tokens_in, tokens_out)


def _may_cost(exchange: Exchange) -> bool:
    """Whether a model may have worked on it: also behind a gateway that gave up, and where no word came back."""
    if exchange.usage is not None or exchange.token_events or "gateway_timeout" in exchange.flags:
        return True
    if exchange.outcome in _NOT_REACHED:
        return exchange.sent_ms is not None
    return exchange.outcome not in _REFUSED


def over(budget: Budget, spent: Spent, planned: Amount) -> str | None:
    """Return why a run that may cost `planned` is over the budget; None when it is within."""
    total = spent.amount.plus(planned)
    if budget.tokens is not None and total.tokens > budget.tokens:
        return (
            f"over budget: {spent.amount.tokens:,} of {budget.tokens:,} tokens are spent on {spent.day} (UTC), and "
            f"this run may take {planned.tokens:,}"
        )
    if budget.usd is not None and total.usd is not None and total.usd > budget.usd:
        return (
            f"over budget: {spent.amount.usd or 0:.4g} of {budget.usd:.4g} USD are spent on {spent.day} (UTC), and "
            f"this run may take {planned.usd or 0:.2g}"
        )
    return None
