"""What arrives at a route. Oracle: a real server on loopback, the check of docs/alerts.md, and Alertmanager's API."""

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from jobs.guarded_http import RefusedByGuardError, ask
from jobs.notify_routes import AlertmanagerSender, AppriseSender, SendError, WebhookSender, ping
from monitor.addresses import refusal
from monitor.alerting.machine import step
from monitor.alerting.nouns import Event, Message, State
from monitor.alerting.outbox import LONGEST_WAIT, Delivery, due, failed, takes
from monitor.config_alerts import Alertmanager, Apprise, HeartbeatEntry, Route, RouteEntry, Webhook
from monitor.incident import Incident
from tests.alerts.made import START, minutes, policy, signal
from tests.alerts.receiver import Receiver, receiver
from tests.alerts.service import Hands


def incident(**changes: Any) -> Incident:
    fields: dict[str, Any] = {
        "incident_id": "1f" * 10, "endpoint": "acme/a", "provider": "acme", "topic": "fidelity", "severity": "page",
        "detector": "fidelity", "rules": ("verdicts#fidelity",), "cause": "weights", "causes": ("weights",),
        "opened_at": START, "last_at": minutes(10), "closed_at": None, "n_verdicts": 2, "verdict_id": "v1",
        "reason": "0.31 nats from golden", "effect": 0.31, "low": 0.2, "high": 0.42, "unit": "nats", "n": 40,
        "threshold": 0.02,
    }  # fmt: skip
    return Incident(**{**fields, **changes})


def delivery(*events: Event, route: str = "hook", created: float = 11, name: str = "m1") -> Delivery:
    told = events or (Event(kind="fired", incident=incident(), changes=("upstream: a before, b since",)),)
    message = Message(message_id=name, at=minutes(created), group="acme", events=told)
    return Delivery(
        delivery_id=f"{name}-{route}", route=route, created_at=message.at, next_at=message.at, message=message
    )


def webhook(url: str, *, allow_private: bool = True) -> WebhookSender:
    target = Webhook(url=SecretStr(url), secret=SecretStr("s3cret"), allow_private=allow_private)
    return WebhookSender(target, Hands(minutes(12)))


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def verify(secret: str, headers: dict[str, str], body: bytes, now: float) -> bool:
    """The check that docs/alerts.md gives to receivers, as it stands there."""
    page = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)  # noqa: S102  # our own page
    found: bool = names["verify"](secret, headers, body, now)
    return found


async def test_a_webhook_is_signed_and_holds_the_evidence(hook: Receiver) -> None:
    await webhook(f"{hook.url}/in?t=1").send(delivery())
    (got,) = hook.got
    now = minutes(12).timestamp()
    assert verify("s3cret", got.headers, got.body, now)
    assert not verify("other", got.headers, got.body, now)
    assert not verify("s3cret", got.headers, got.body + b" ", now)
    assert not verify("s3cret", got.headers, got.body, now + 301)
    assert (got.method, got.path, got.headers["content-type"]) == ("POST", "/in?t=1", "application/json")
    assert got.headers["idempotency-key"] == "m1-hook"
    body = orjson.loads(got.body)
    (event,) = body["events"]
    assert (body["id"], body["schema"], body["group"]) == ("m1-hook", "weighmaster.alert/1", "acme")
    wanted = {"kind": "fired", "incident_id": "1f" * 10, "cause": "weights", "value": 0.31, "low": 0.2, "high": 0.42}
    wanted |= {"unit": "nats", "n": 40, "threshold": 0.02, "opened_at": "2026-11-02T00:00:00Z", "n_signs": 2}
    wanted |= {"changes": ["upstream: a before, b since"], "command": "weighmaster audit acme/a"}
    assert {key: event[key] for key in wanted} == wanted


@pytest.mark.parametrize("status", [301, 400, 404, 429, 500])
async def test_what_is_no_success_is_a_failure_and_no_redirect_is_followed(status: int) -> None:
    with receiver() as other, receiver(status, location=other.url) as moved:
        with pytest.raises(SendError, match=f"answered HTTP {status}"):
            await webhook(moved.url).send(delivery())
        assert (len(moved.got), len(other.got)) == (1, 0)


async def test_no_error_shows_the_address() -> None:
    with receiver() as gone:
        pass
    with pytest.raises(SendError) as caught:
        await webhook(f"{gone.url}/t0ken").send(delivery())
    assert "t0ken" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


async def test_private_addresses_need_a_word(hook: Receiver) -> None:
    with pytest.raises(SendError, match="allow_private"):
        await webhook(hook.url, allow_private=False).send(delivery())
    assert hook.got == []


async def test_a_silent_receiver_costs_no_more_than_the_limit() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(RefusedByGuardError, match=r"no answer within 0\.2 s"):
            await ask("POST", url, content=b"{}", allow_private=True, limit_s=0.2)


@pytest.mark.parametrize(
    ("address", "private", "refused"),
    [
        ("93.184.216.34", False, None), ("2606:2800:220:1::1", False, None),
        ("10.0.0.1", False, "private"), ("10.0.0.1", True, None), ("127.0.0.1", False, "private"),
        ("127.0.0.1", True, None), ("::1", True, None), ("fd12::1", False, "private"),
        ("169.254.169.254", True, "metadata"), ("fe80::1%eth0", True, "metadata"), ("fd00:ec2::254", True, "metadata"),
        ("100.100.100.200", True, "metadata"), ("::ffff:169.254.169.254", True, "metadata"),
        ("64:ff9b::a9fe:a9fe", True, "metadata"), ("2002:a9fe:a9fe::1", True, "metadata"),
        ("::ffff:10.0.0.1", False, "private"), ("0.0.0.0", True, "no address"), ("224.0.0.1", True, "no address"),  # noqa: S104
        ("240.0.0.1", True, "no address"),
    ],
)  # fmt: skip
def test_which_addresses_are_refused(address: str, private: bool, refused: str | None) -> None:
    why = refusal(address, allow_private=private)
    assert (why is None) if refused is None else (why is not None and refused in why)


async def test_alertmanager_gets_what_its_api_wants(hook: Receiver) -> None:
    sender = AlertmanagerSender(Alertmanager(url=SecretStr(hook.url), token=SecretStr("t"), allow_private=True))
    await sender.send(delivery())
    over = incident(closed_at=minutes(30), causes=("weights", "template"))
    await sender.send(delivery(Event(kind="resolved", incident=over)))
    fired, resolved = (orjson.loads(one.body)[0] for one in hook.got)
    assert {one.path for one in hook.got} == {"/api/v2/alerts"}
    assert hook.got[0].headers["authorization"] == "Bearer t"
    assert fired["labels"] == resolved["labels"]
    assert fired["labels"]["alertname"] == "weighmaster_fidelity"
    assert fired["startsAt"] == resolved["startsAt"] == "2026-11-02T00:00:00Z"
    assert (fired["endsAt"], resolved["endsAt"]) == ("2026-12-02T00:11:00Z", "2026-11-02T00:30:00Z")
    assert all(isinstance(value, str) for value in (*fired["labels"].values(), *fired["annotations"].values()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # plugins of the package import what is deprecated
async def test_apprise_gets_plain_text(hook: Receiver) -> None:
    """The real package, with its plugin for JSON over HTTP."""
    address = hook.url.replace("http://", "json://")
    await AppriseSender(Apprise(url=SecretStr(f"{address}/in"))).send(delivery())
    (got,) = hook.got
    body = orjson.loads(got.body)
    assert (body["title"], body["type"]) == ("FIRING: acme/a weights", "failure")
    assert "0.31 nats from golden" in body["message"]
    over = Event(kind="resolved", incident=incident(closed_at=minutes(30)))
    await AppriseSender(Apprise(url=SecretStr(f"{address}/in"))).send(delivery(over))
    assert orjson.loads(hook.got[-1].body)["type"] == "success"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # plugins of the package import what is deprecated
async def test_what_apprise_cannot_do_is_told_without_the_address(hook: Receiver) -> None:
    with pytest.raises(SendError, match="does not know"):
        await AppriseSender(Apprise(url=SecretStr("what://h"))).send(delivery())
    hook.status = 500
    with pytest.raises(SendError, match="could not deliver"):
        await AppriseSender(Apprise(url=SecretStr(hook.url.replace("http://", "json://")))).send(delivery())


async def test_without_the_package_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(SendError, match=r"weighmaster\[alerts\]"):
        await AppriseSender(Apprise(url=SecretStr("json://h"))).send(delivery())


async def test_the_heartbeat_is_a_get(hook: Receiver) -> None:
    await ping(HeartbeatEntry(url=SecretStr(f"{hook.url}/ping"), allow_private=True))
    assert [(one.method, one.path) for one in hook.got] == [("GET", "/ping")]
    hook.status = 500
    with pytest.raises(SendError, match="HTTP 500"):
        await ping(HeartbeatEntry(url=SecretStr(hook.url), allow_private=True))


def test_back_off_doubles_up_to_a_limit_and_ends() -> None:
    one, at, waits = delivery(created=0), minutes(0), []
    while one.given_up_at is None:
        one = failed(one, "answered HTTP 500", at)
        waits.append(one.next_at - at)
        at = one.next_at + timedelta(seconds=1)
    assert [wait.total_seconds() for wait in waits[:4]] == [5, 10, 20, 40]
    assert max(waits) == LONGEST_WAIT
    assert timedelta(days=7) <= one.given_up_at - one.created_at < timedelta(days=7, hours=1)


def test_one_provider_is_told_in_order_and_others_do_not_wait() -> None:
    first, later = delivery(created=0, name="m1"), delivery(created=5, name="m2")
    waiting = failed(first, "x", minutes(5))
    assert due([later, waiting], minutes(5)) == []
    assert due([later, waiting], minutes(6)) == [waiting]
    other = delivery(created=5, name="m3", route="second")
    assert due([later, waiting, other], minutes(5)) == [other]


@pytest.mark.parametrize(
    ("pattern", "taken"), [("acme/*", True), ("acme/b", True), ("acme", True), ("best/*", False), ("*", True)]
)
def test_a_route_for_any_of_its_endpoints_hears_of_what_concerns_them_together(pattern: str, taken: bool) -> None:
    lost = signal(0, bad=True, subject="provider acme", endpoints=("acme/a", "acme/b"), topic="availability")
    (message,) = step(State(), [lost], minutes(0), policy()).messages
    target = Alertmanager(url=SecretStr("http://127.0.0.1:1"))
    route = Route(name="r", target=target, entry=RouteEntry(kind="alertmanager", endpoints=(pattern,)))
    assert [takes(route, event) for event in message.events] == [taken]
