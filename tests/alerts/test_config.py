"""The section ``alerts``. Oracle: written by hand from the file, and messages that people read."""

import jsonschema
import pytest
import yaml

from monitor.alerting.conditions import OfVerdict, Shift, Window
from monitor.alerting.defaults import DEFAULTS
from monitor.alerting.nouns import Count
from monitor.config import Config, json_schema, load
from monitor.config_alerts import Alertmanager, Apprise, Webhook
from monitor.errors import ConfigError
from tests.config.catalogue import CATALOGUES

HEAD = """
endpoints:
  - {name: acme/a, base_url: "http://h/v1", model: m}
  - {name: other/b, base_url: "http://h/v1", model: m}
"""
FULL = HEAD + """
alerts:
  every: 1m
  group_wait: 10s
  reminders: false
  rules:
    slow:
      {kind: window, metric: ttft_ms, quantile: 0.95, over: 1h, above: 2000, endpoints: [acme/*], fire: 2 of 4}
    swapped: {kind: verdict, detectors: [fidelity], causes: [weights], share_above: 0.2, severity: ticket}
    slower-tokens: {kind: shift, metric: tps, against: peers, factor: 2.0}
    budget: {kind: burn_rate, objective: 0.995}
  routes:
    ops: {kind: webhook, url: "https://hooks.acme.example/x", secret: "${HOOK}", topics: [fidelity]}
    central: {kind: alertmanager, url: "http://alertmanager:9093", allow_private: true}
    chat: {kind: apprise, url: "${CHAT}", severities: [page], resolved: false}
  silences:
    - {match: acme/*, until: 2026-12-24T08:00:00Z, reason: upgrade}
  heartbeat: {url: "https://hc.example/${PING}", every: 5m}
"""
ENVIRON = {"HOOK": "k" * 32, "CHAT": "slack://a/b/c", "PING": "p1n6"}


def read(text: str) -> Config:
    return load(text, ENVIRON, CATALOGUES)


def test_defaults_are_in_force_without_the_section() -> None:
    alerts = read(HEAD).alerts
    assert [rule.name for rule in alerts.rules] == list(DEFAULTS)
    assert alerts.rules[0].endpoints == {"acme/a", "other/b"}
    assert (alerts.every_s, alerts.remind_s, alerts.routes) == (30, 4 * 3600, ())


def test_the_full_section() -> None:
    alerts = read(FULL).alerts
    rules = {rule.name: rule for rule in alerts.rules}
    assert set(rules) == {*DEFAULTS, "slow", "swapped", "budget"}
    assert rules["slow"].condition == Window(metric="ttft_ms", over=3600, above=2000)
    assert (rules["slow"].endpoints, rules["slow"].fire) == (frozenset({"acme/a"}), Count(n=2, m=4))
    assert rules["swapped"].condition == OfVerdict(detectors=("fidelity",), causes=("weights",), share_above=0.2)
    assert (rules["swapped"].severity, rules["swapped"].resolve) == ("ticket", Count(n=1, m=1))
    assert rules["slower-tokens"].condition == Shift(metric="tps", against="peers", factor=2.0)
    assert (alerts.every_s, alerts.group_wait_s, alerts.remind_s) == (60, 10, None)
    ops, central, chat = alerts.routes
    assert isinstance(ops.target, Webhook)
    assert ops.target.secret.get_secret_value() == "k" * 32
    assert isinstance(central.target, Alertmanager)
    assert central.target.allow_private
    assert isinstance(chat.target, Apprise)
    assert (chat.entry.severities, chat.entry.resolved) == (("page",), False)
    assert (alerts.silences[0].match, alerts.silences[0].until.isoformat()) == ("acme/*", "2026-12-24T08:00:00+00:00")
    assert alerts.heartbeat is not None
    assert alerts.heartbeat.every == 300


def test_no_address_or_key_is_shown() -> None:
    shown = repr(read(FULL).alerts)
    assert not any(secret in shown for secret in ("k" * 32, "slack://", "hooks.acme", "p1n6"))


MISTAKES = {
    "rules: {r: {kind: windoww}}": 'alerts.rules.r.kind: unknown kind of rule "windoww"',
    "rules: {r: {metric: tps}}": "alerts.rules.r.kind: is missing",
    "rules: {r: {kind: window, metric: tps}}": "alerts.rules.r: needs one of `above` and `below`",
    "rules: {r: {kind: result}}": "alerts.rules.r: needs either `outcomes` or `metric`",
    "rules: {r: {kind: result, outcomes: [http_5yy]}}": 'unknown value "http_5yy"',
    "rules: {r: {kind: verdict, fire: 3 of 2}}": "alerts.rules.r.fire: is not N of M",
    "rules: {r: {kind: verdict, endpoints: [acne/*]}}": 'unknown endpoint "acne/*"',
    "rules: {r: {kind: verdict, wrong: 1}}": "alerts.rules.r.wrong: unknown key",
    "rules: {a#b: {kind: verdict}}": "is not a usable name",
    "routes: {r: {kind: webhook, url: 'https://x.example/', secret: open}}": "is a secret in clear text",
    "routes: {r: {kind: apprise, url: 'slack://a'}}": "alerts.routes.r.url: is a secret in clear text",
    "routes: {r: {kind: webhook, url: 'ftp://x.example/', secret: '${HOOK}'}}": "is not an http(s) address",
    "routes: {r: {kind: webhook, url: 'https://x.example/'}}": "alerts.routes.r.secret: is missing",
    "silences: [{match: a, until: 2026-12-24T08:00:00, reason: x}]": "silences[0].until: must have timezone info",
    "every: 30": "alerts.every: a duration needs a unit",
    "heartbeat: {url: nowhere}": "alerts.heartbeat.url: is not an http(s) address",
    "evry: 30s": "alerts.evry: unknown key",
}


@pytest.mark.parametrize("section", MISTAKES)
def test_mistakes_name_their_place(section: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(f"{HEAD}\nalerts:\n  {section}\n")
    assert MISTAKES[section] in str(caught.value)
    assert len(caught.value.problems) == 1


def test_the_schema_takes_the_full_section_and_refuses_a_wrong_one() -> None:
    schema = json_schema(CATALOGUES)
    jsonschema.Draft202012Validator.check_schema(schema)
    content = yaml.safe_load(FULL.replace("2026-12-24T08:00:00Z", "'2026-12-24T08:00:00Z'"))
    jsonschema.validate(content, schema)
    content["alerts"]["rules"]["slow"]["kind"] = "shift"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, schema)
    bare = [key for key, about in schema["$defs"]["Window"]["properties"].items() if not about.get("description")]
    assert bare == []
