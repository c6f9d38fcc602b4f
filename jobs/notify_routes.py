"""How a message gets to each kind of route. One attempt each; who calls tries again."""

import asyncio
import hashlib
import hmac
import importlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from jobs.guarded_http import RefusedByGuardError, ask
from monitor.alerting.message import clean, command, document, payload, text, title
from monitor.alerting.nouns import Event
from monitor.alerting.outbox import Delivery
from monitor.codec import encode
from monitor.config_alerts import Alertmanager, Apprise, HeartbeatEntry, Route, Webhook
from monitor.ports import Clock

ENDS_AFTER = timedelta(days=30)
"""Alertmanager forgets what is not sent again; ours is over when we say so."""


APPRISE_S = 60.0
"""Longest to wait for apprise, whose plugins may ask several times."""


class SendError(Exception):
    """The route did not take the message: in our own words, without address, key or body."""


class Sender(Protocol):
    """Sends a delivery once."""

    async def send(self, delivery: Delivery) -> None:
        """Return when the route has taken it. Raises SendError."""
        ...


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What ``Weighmaster-Signature`` holds: HMAC-SHA256 over timestamp, a dot and the body."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


async def _taken(
    url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool
) -> None:  # fmt: skip
    sent = {"content-type": "application/json", **headers}
    try:
        status = await ask("POST", url, content=body, headers=sent, allow_private=allow_private)
    except RefusedByGuardError as error:
        raise SendError(str(error)) from None
    if not 200 <= status < 300:
        raise SendError(f"answered HTTP {status}")


class WebhookSender:
    """POSTs signed JSON."""

    def __init__(self, target: Webhook, clock: Clock) -> None:
        self._target, self._clock = target, clock

    async def send(self, delivery: Delivery) -> None:
        """Send once, signed at the time of sending."""
        body = payload(delivery.message, delivery.delivery_id)
        timestamp = str(int(self._clock.now().timestamp()))
        headers = {
            "idempotency-key": delivery.delivery_id, "weighmaster-timestamp": timestamp,
            "weighmaster-signature": signature(self._target.secret.get_secret_value(), timestamp, body),
        }  # fmt: skip
        url = self._target.url.get_secret_value()
        await _taken(url, body, headers, allow_private=self._target.allow_private)


class AlertmanagerSender:
    """POSTs to ``/api/v2/alerts``. The labels of an incident never change, so that its end finds its beginning."""

    def __init__(self, target: Alertmanager) -> None:
        self._target = target

    async def send(self, delivery: Delivery) -> None:
        """Send once."""
        body = encode([alert(event, delivery.message.at) for event in delivery.message.events])
        token = self._target.token
        headers = {} if token is None else {"authorization": f"Bearer {token.get_secret_value()}"}
        url = self._target.url.get_secret_value().rstrip("/") + "/api/v2/alerts"
        await _taken(url, body, headers, allow_private=self._target.allow_private)


def alert(event: Event, at: datetime) -> dict[str, Any]:
    """One event as Alertmanager's API v2 wants it."""
    one, shown = event.incident, document(event)
    labels = {
        "alertname": f"weighmaster_{one.topic or 'incident'}", "endpoint": one.endpoint, "provider": one.provider or "",
        "severity": one.severity or "page", "incident_id": one.incident_id,
    }  # fmt: skip
    notes = {
        "summary": clean(f"{one.endpoint}: {', '.join(one.causes)}"), "description": shown["reason"],
        "changes": "; ".join(shown["changes"]), "command": command(one), "n": str(one.n),
    }  # fmt: skip
    return {
        "labels": {name: clean(value) for name, value in labels.items()}, "annotations": notes,
        "startsAt": one.opened_at, "endsAt": one.closed_at or at + ENDS_AFTER,
    }  # fmt: skip


class AppriseSender:
    """Hands the plain text to the package apprise, in a thread: it blocks, and it makes its own connections."""

    def __init__(self, target: Apprise) -> None:
        self._target = target

    async def send(self, delivery: Delivery) -> None:
        """Send once. One object per route: a set of several counts as failed when one of them fails."""
        try:
            async with asyncio.timeout(APPRISE_S):
                taken = await asyncio.to_thread(self._notify, delivery)
        except TimeoutError:
            raise SendError(f"apprise had no answer within {APPRISE_S:g} s") from None
        except SendError:
            raise
        except Exception as error:  # noqa: BLE001  # a hundred plugins of others: none may stop the notifier
            raise SendError(f"apprise failed ({type(error).__name__})") from None
        if not taken:
            raise SendError("apprise could not deliver it")

    def _notify(self, delivery: Delivery) -> bool:
        try:
            apprise: Any = importlib.import_module("apprise")
        except ImportError:
            raise SendError("the package apprise is not installed: pip install 'weighmaster[alerts]'") from None
        sender = apprise.Apprise()
        if not sender.add(self._target.url.get_secret_value()):
            raise SendError("apprise does not know this kind of address")
        over = all(event.kind == "resolved" for event in delivery.message.events)
        kind = apprise.NotifyType.SUCCESS if over else apprise.NotifyType.FAILURE
        body, head = text(delivery.message), title(delivery.message)
        return bool(sender.notify(body=body, title=head, notify_type=kind, body_format=apprise.NotifyFormat.TEXT))


def sender_of(route: Route, clock: Clock) -> Sender:
    """What sends to `route`."""
    match route.target:
        case Webhook():
            return WebhookSender(route.target, clock)
        case Alertmanager():
            return AlertmanagerSender(route.target)
        case Apprise():
            return AppriseSender(route.target)


async def ping(heartbeat: HeartbeatEntry) -> None:
    """Say that somebody is looking. Raises SendError."""
    try:
        status = await ask("GET", heartbeat.url.get_secret_value(), allow_private=heartbeat.allow_private)
    except RefusedByGuardError as error:
        raise SendError(str(error)) from None
    if not 200 <= status < 300:
        raise SendError(f"answered HTTP {status}")
