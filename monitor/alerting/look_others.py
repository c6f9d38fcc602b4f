"""Rules on what detectors said, and on whom nothing is heard of."""

from collections.abc import Iterator
from datetime import timedelta
from fnmatch import fnmatchcase

from monitor.agent_sign import at_once, names
from monitor.alerting.conditions import AgentOffline, AgentTwice, ConfigInvalid, OfVerdict, Rule
from monitor.alerting.facts import Facts
from monitor.alerting.nouns import AGENT, CONFIGURATION, VANTAGE, Signal, Topic
from monitor.decision import JOINED
from monitor.results import Verdict

TOPIC_OF: dict[str, Topic] = {
    "availability": "availability", "speed_shift": "speed", "tool_calls": "tools", "faults": "conformance",
    "parameters": "conformance", "suite": "suite",
}  # fmt: skip
"""What detectors are about; those that are not listed are about fidelity."""


def look_verdicts(rule: Rule, condition: OfVerdict, facts: Facts) -> Iterator[Signal]:
    """One signal per verdict of a detector that the rule names.

    Detectors that speak through the joint verdict count only when they are named without a pattern.
    """
    for verdict in facts.verdicts:
        watched = verdict.endpoint in rule.endpoints and verdict.endpoint in facts.endpoints
        if watched and _is_meant(verdict.detector, condition):
            yield _of_verdict(rule, condition, facts, verdict)


def _is_meant(detector: str, condition: OfVerdict) -> bool:
    if detector in JOINED:
        return detector in condition.detectors
    named = any(fnmatchcase(detector, pattern) for pattern in condition.detectors)
    return named and not any(fnmatchcase(detector, pattern) for pattern in condition.other_than)


def _of_verdict(rule: Rule, condition: OfVerdict, facts: Facts, verdict: Verdict) -> Signal:
    return Signal(
        rule=f"{rule.name}#{verdict.detector}", subject=verdict.endpoint,
        provider=facts.endpoints[verdict.endpoint].provider, at=verdict.at, key=verdict.verdict_id,
        bad=_is_bad(condition, verdict), topic=TOPIC_OF.get(verdict.detector, "fidelity"),
        cause=_cause(verdict), reason=verdict.reason, detector=verdict.detector,
        verdict_id=verdict.verdict_id, value=verdict.effect, low=verdict.low, high=verdict.high, unit=verdict.unit,
        n=verdict.n, threshold=verdict.threshold, maintenance=facts.maintained.get(verdict.verdict_id),
    )  # fmt: skip


def _cause(verdict: Verdict) -> str:
    """The cause that the verdict names; of availability one word, since the outcomes differ from run to run."""
    return "unavailable" if verdict.detector == "availability" else verdict.cause or verdict.detector


def _is_bad(condition: OfVerdict, verdict: Verdict) -> bool | None:
    if verdict.status == "pass":
        return False
    if verdict.status not in condition.statuses:
        return None
    if condition.causes and verdict.cause not in condition.causes:
        return None
    share = verdict.details.get("share")
    if condition.share_above is not None and not (isinstance(share, float | int) and share > condition.share_above):
        return None
    return True


def look_agents(rule: Rule, condition: AgentOffline, facts: Facts) -> Iterator[Signal]:
    """One signal per vantage point at each look. Time passing is what this rule looks at.

    After a gap in which nobody looked (a restart, a store that was down, a clock that was set) agents have results to
    hand over first: who was silent then is no sign until the limit has passed once more.
    """
    limit = timedelta(seconds=condition.after or facts.patience_s)
    listened = facts.listening_since is None or facts.now - facts.listening_since > limit
    for place, heard_at in sorted(facts.heard.items()):
        silent = facts.now - heard_at
        bad = None if silent > limit and not listened else silent > limit
        yield Signal(
            rule=rule.name, subject=AGENT + place, at=facts.now, key=facts.now.isoformat(), bad=bad,
            topic="agent", cause="agent_offline", since=heard_at if silent > limit else facts.now,
            reason=f"no result from {place} for {silent.total_seconds() / 60:.0f} min; limit "
            f"{limit.total_seconds() / 60:g} min",
            detector=condition.kind, value=silent.total_seconds() / 60, unit="min", n=1,
            threshold=limit.total_seconds() / 60, endpoints=tuple(sorted(facts.endpoints)),
        )  # fmt: skip


def look_twice(rule: Rule, condition: AgentTwice, facts: Facts) -> Iterator[Signal]:
    """One signal per vantage that signs, at each look: whether more than one agent runs there."""
    doubled = at_once(facts.signs, facts.now)
    for place in sorted({one.vantage for one in facts.signs}):
        agents = doubled.get(place, ())
        yield Signal(
            rule=rule.name, subject=VANTAGE + place, at=facts.now, key=facts.now.isoformat(), bad=bool(agents),
            topic="agent", cause="agent_twice", detector=condition.kind,
            reason=f"{len(agents)} agents run as {place}: {names(agents)}; end one, or give it another vantage"
            if agents else f"one agent runs as {place}",
            value=float(len(agents) or 1), unit="agents", n=1, threshold=1.0,
            endpoints=tuple(sorted(facts.endpoints)),
        )  # fmt: skip


def look_configuration(rule: Rule, condition: ConfigInvalid, facts: Facts) -> Iterator[Signal]:
    """One signal at each look: whether the configuration file can be used."""
    wrong = facts.configuration
    yield Signal(
        rule=rule.name, subject=CONFIGURATION, at=facts.now, key=facts.now.isoformat(), bad=wrong is not None,
        topic="configuration", cause="config_invalid", since=wrong.since if wrong else facts.now,
        reason=f"the configuration before it stays in force: {wrong.text}" if wrong else "the configuration is valid",
        detector=condition.kind, n=1,
    )  # fmt: skip
