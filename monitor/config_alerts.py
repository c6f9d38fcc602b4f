"""What the configuration says of alerts: rules, routes, silences. Read here, judged by `monitor.alerting`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AwareDatetime, Field, SecretStr

from monitor.addresses import written_refusal
from monitor.alerting.conditions import CONDITIONS, Rule
from monitor.alerting.defaults import DEFAULTS
from monitor.alerting.nouns import Silence, Topic
from monitor.config_alert_fields import CountText, HookUrl, SigningKey
from monitor.config_check import Checker
from monitor.config_fields import Duration, Secret, Text
from monitor.config_source import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEntry:
    """The keys that every rule has beside those of its kind."""

    kind: str
    """What it looks at: result, window, shift, verdict, burn_rate, provider_down, agent_offline, agent_twice or
    config_invalid."""
    endpoints: Annotated[tuple[Text, ...], Field(min_length=1)] = ("*",)
    """Names or patterns such as acme/*; absent: all."""
    fire: CountText | None = None
    """How many of the newest signals must be bad, such as 2 of 3; absent: as its kind counts."""
    resolve: CountText | None = None
    """How many must be good again."""
    severity: Literal["page", "ticket"] = "page"
    """What it is worth: routes may take only one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteEntry:
    """The keys that every route has beside those of its kind."""

    kind: Literal["webhook", "alertmanager", "apprise"]
    """How messages are sent."""
    endpoints: Annotated[tuple[Text, ...], Field(min_length=1)] = ("*",)
    """Only incidents of endpoints or providers that match; absent: all."""
    topics: tuple[Topic, ...] = ()
    """Only these topics; absent: all."""
    severities: tuple[Literal["page", "ticket"], ...] = ()
    """Only these severities; absent: all."""
    resolved: bool = True
    """Whether the end of an incident is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A POST of JSON, signed with a key that both sides know."""

    url: HookUrl
    """Where to."""
    secret: SigningKey
    """The key of the signature, written as ${NAME}."""
    allow_private: bool = False
    """Whether the address may be on this machine or in a private network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alertmanager:
    """Prometheus' Alertmanager, which groups, silences and routes by itself."""

    url: HookUrl
    """Its address, such as http://alertmanager:9093."""
    token: Secret = None
    """Bearer token, written as ${NAME}; absent: none is sent."""
    allow_private: bool = False
    """Whether the address may be on this machine or in a private network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apprise:
    """What the package apprise can reach: mail, Slack, PagerDuty and so on. Needs the extra ``alerts``."""

    url: SigningKey
    """An address of apprise, such as mailto://... or slack://..., written as ${NAME} since it holds a token."""


Target = Webhook | Alertmanager | Apprise
TARGETS: Mapping[str, type[Target]] = {"webhook": Webhook, "alertmanager": Alertmanager, "apprise": Apprise}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where messages go, and which."""

    name: str
    target: Target
    entry: RouteEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceEntry:
    """A time in which nobody is told."""

    match: Text
    """Names or a pattern of endpoints or providers, such as acme/*."""
    until: AwareDatetime
    """When it ends, such as 2026-12-24T08:00:00Z."""
    reason: Text
    """Why; stands beside every incident that it mutes."""
    topic: Topic | None = None
    """Only this topic; absent: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatEntry:
    """A ping after every look that worked, for a service that calls when it stays away."""

    url: HookUrl
    """What to ask with GET."""
    every: Duration = 60.0
    """How often at most."""
    allow_private: bool = False
    """Whether the address may be on this machine or in a private network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertsSection:
    """When to call somebody, and how."""

    every: Duration = 30.0
    """How often the rules look."""
    group_wait: Duration = 30.0
    """How long an incident waits for others of its provider, to be told in one message."""
    remind: Duration = 4 * 3600.0
    """How often an open incident is told again until somebody acknowledges it."""
    reminders: bool = True
    """Whether it is told again at all."""
    default_rules: bool = True
    """Whether the rules of docs/alerts.md are in force beside those below; a rule of the same name replaces one."""
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Rules by name."""
    routes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Routes by name."""
    silences: tuple[dict[str, Any], ...] = ()
    """Times in which nobody is told; `weighmaster silence` adds others."""
    heartbeat: dict[str, Any] | None = None
    """A ping that says that somebody is looking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertsConfig:
    """Alerts as they are in force."""

    every_s: float = 30.0
    group_wait_s: float = 30.0
    remind_s: float | None = 4 * 3600.0
    rules: tuple[Rule, ...] = ()
    routes: tuple[Route, ...] = ()
    silences: tuple[Silence, ...] = ()
    heartbeat: HeartbeatEntry | None = None


def alerts_of(checker: Checker) -> AlertsConfig | None:
    """Return the section ``alerts`` of the document; None after a mistake."""
    path: Path = ("alerts",)
    if not isinstance(checker.document.at(path), dict | None):
        return None  # the top level says so
    section = checker.make(AlertsSection, path)
    names = _endpoints(checker)
    rules = _rules(checker, names, defaults=section is None or section.default_rules)
    routes = tuple(made for name, _ in checker.document.named((*path, "routes")) if (made := _route(checker, name)))
    silences = tuple(one for i, _ in checker.document.listed((*path, "silences")) if (one := _silence(checker, i)))
    ping = checker.document.at((*path, "heartbeat"))
    heartbeat = checker.make(HeartbeatEntry, (*path, "heartbeat")) if isinstance(ping, dict) else None
    if heartbeat is not None:
        _reachable(checker, (*path, "heartbeat"), heartbeat)
    if section is None:
        return None
    return AlertsConfig(
        every_s=section.every, group_wait_s=section.group_wait, remind_s=section.remind if section.reminders else None,
        rules=rules, routes=routes, silences=silences, heartbeat=heartbeat,
    )  # fmt: skip


def _endpoints(checker: Checker) -> list[str]:
    entries = checker.document.at(("endpoints",))
    found = entries if isinstance(entries, list) else []
    return [one["name"] for one in found if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _rules(checker: Checker, names: list[str], *, defaults: bool) -> tuple[Rule, ...]:
    every = frozenset(names)
    found: dict[str, Rule] = {}
    for name, (condition, fire) in DEFAULTS.items() if defaults else ():
        found[name] = Rule(
            name=name, condition=condition, endpoints=every, fire=fire or condition.fire,
            resolve=fire or condition.resolve,
        )  # fmt: skip
    for name, content in checker.document.named(("alerts", "rules")):
        made = _rule(checker, name, content, names)
        if made is not None:
            found[name] = made
    return tuple(found.values())


def _rule(checker: Checker, name: str, content: Mapping[str, Any], names: list[str]) -> Rule | None:
    path: Path = ("alerts", "rules", name)
    if "#" in name:
        checker.add(path, "is not a usable name", "leave out the #")
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in CONDITIONS:
        checker.add_unknown((*path, "kind"), "kind of rule", CONDITIONS) if kind else checker.add(
            (*path, "kind"), "is missing", f"one of {', '.join(CONDITIONS)}"
        )
        return None
    values = checker.values(path, CONDITIONS[kind], RuleEntry)
    condition = None if values is None else checker.build(CONDITIONS[kind], values, path)
    if values is None or condition is None:
        return None
    patterns = values.get("endpoints", ("*",))
    return Rule(
        name=name, condition=condition, endpoints=_matching(checker, (*path, "endpoints"), patterns, names),
        fire=values.get("fire") or condition.fire, resolve=values.get("resolve") or condition.resolve,
        severity=values.get("severity", "page"),
    )  # fmt: skip


def _matching(checker: Checker, path: Path, patterns: tuple[str, ...], names: list[str]) -> frozenset[str]:
    for i, pattern in enumerate(patterns):
        if names and not any(fnmatchcase(name, pattern) for name in names):
            checker.add_unknown((*path, i), "endpoint", names)
    return frozenset(name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))


def _route(checker: Checker, name: str) -> Route | None:
    path: Path = ("alerts", "routes", name)
    kind = checker.document.at((*path, "kind"))
    if not isinstance(kind, str) or kind not in TARGETS:
        checker.add_unknown((*path, "kind"), "kind of route", TARGETS) if kind else checker.add(
            (*path, "kind"), "is missing", f"one of {', '.join(TARGETS)}"
        )
        return None
    values = checker.values(path, TARGETS[kind], RouteEntry)
    target = None if values is None else checker.build(TARGETS[kind], values, path)
    entry = None if values is None else checker.build(RouteEntry, values, path)
    if target is None or entry is None:
        return None
    for key in ("secret", "url"):
        secret = isinstance(getattr(target, key, None), SecretStr) and (key == "secret" or kind == "apprise")
        if secret and (*path, key) not in checker.document.filled:
            checker.add((*path, key), "is a secret in clear text", "write ${NAME} and set NAME in the environment")
    if not isinstance(target, Apprise):
        _reachable(checker, path, target)
    return Route(name=name, target=target, entry=entry)


def _reachable(checker: Checker, path: Path, target: Webhook | Alertmanager | HeartbeatEntry) -> None:
    """Note an address that would be refused each time: names are looked up only when something is sent."""
    host = urlsplit(target.url.get_secret_value()).hostname or ""
    why = written_refusal(host, allow_private=target.allow_private)
    if why is not None:
        what, _, remedy = why.partition("; ")
        checker.add((*path, "url"), f"is {what}", remedy or "write the address of whoever takes the messages")


def _silence(checker: Checker, index: int) -> Silence | None:
    entry = checker.make(SilenceEntry, ("alerts", "silences", index))
    if entry is None:
        return None
    return Silence(
        silence_id=f"config-{index}", match=entry.match, until=entry.until, reason=entry.reason, topic=entry.topic,
        by="the configuration", made_at=datetime.min.replace(tzinfo=entry.until.tzinfo),
    )  # fmt: skip
