"""Whether a fault of one endpoint may be the beginning of an outage of its whole provider, and what an outage takes in.

A rule that fires at the first failure is quicker than `ProviderDown`, which needs some failures of every endpoint. So
that one outage is one incident, what such a rule says waits until it is known (`in_doubt`), and what began with the
outage ends in its favour (`is_part_of`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from monitor.alerting.conditions import ProviderDown, Rule
from monitor.alerting.facts import Facts, Sample
from monitor.alerting.nouns import PROVIDER
from monitor.incident import Incident

LONGEST_DOUBT = timedelta(minutes=15)
"""After so long an incident is told, whether or not it is known if the provider is down."""
SETTLES = timedelta(seconds=30)
"""An answer so soon after the first failure is no proof that the provider lives: servers do not die all at once."""
APART = timedelta(minutes=1)
"""What began to fail so much before the last answer of the provider is a part of the outage."""


def in_doubt(rules: Iterable[Rule], facts: Facts) -> frozenset[str]:
    """Endpoints that fail, and no endpoint of whose provider has answered since."""
    found: set[str] = set()
    for rule in rules:
        if isinstance(rule.condition, ProviderDown):
            for own in asked(rule, rule.condition, facts, least=1).values():
                if len(own) >= rule.condition.min_endpoints:
                    found.update(_doubtful(own))
    return frozenset(found)


def asked(rule: Rule, condition: ProviderDown, facts: Facts, least: int) -> dict[str, dict[str, Sequence[Sample]]]:
    """Requests of late that say something of the endpoint, oldest first, by provider and endpoint.

    Endpoints with fewer than `least` of them are left out.
    """
    found: dict[str, dict[str, Sequence[Sample]]] = {}
    for name in sorted(rule.endpoints & set(facts.endpoints)):
        late = facts.now - timedelta(seconds=condition.over)
        own = [one for one in facts.samples.get(name, ()) if one.is_own and one.at >= late]
        if len(own) >= least:
            found.setdefault(facts.endpoints[name].provider, {})[name] = own
    return found


def _doubtful(own: Mapping[str, Sequence[Sample]]) -> Iterator[str]:
    alive_at = max((one[-1].at for one in own.values() if one[-1].answered), default=None)
    for name, samples in own.items():
        since = _failing_since(samples)
        if since is not None and (alive_at is None or alive_at < since + SETTLES):
            yield name


def began(own: Iterable[Sequence[Sample]]) -> datetime | None:
    """When an outage began, by the requests to each endpoint, oldest first; None when no endpoint fails.

    That is when the first endpoint began to fail that did not fail long before the last answer of the others.
    """
    every = tuple(own)
    last = max((one.at for samples in every for one in samples if one.answered), default=None)
    starts = [since for samples in every if (since := _failing_since(samples)) is not None]
    return min((one for one in starts if last is None or one >= last - APART), default=None)


def _failing_since(samples: Sequence[Sample]) -> datetime | None:
    """When the failures began that go on; None when the newest request was answered."""
    failed = list(takewhile(lambda one: not one.answered, reversed(samples)))
    return failed[-1].at if failed else None


def is_about_requests(incident: Incident) -> bool:
    """Whether it rests on how requests went, and not on what was answered."""
    return incident.verdict_id is None or incident.topic == "availability"


def is_part_of(incident: Incident, outage: Incident) -> bool:
    """Whether an incident of an endpoint began with an outage of its provider, and is no news beside it."""
    own = " " not in incident.endpoint and PROVIDER + (incident.provider or "") == outage.endpoint
    return own and is_about_requests(incident) and incident.opened_at >= outage.opened_at
