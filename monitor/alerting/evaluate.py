"""All signals that rules give on facts."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from monitor.alerting.conditions import (
    AgentOffline,
    AgentTwice,
    BurnRate,
    Condition,
    ConfigInvalid,
    OfVerdict,
    ProviderDown,
    Result,
    Rule,
    Shift,
    Window,
)
from monitor.alerting.facts import Facts
from monitor.alerting.look_burn import look_burn
from monitor.alerting.look_others import look_agents, look_configuration, look_twice, look_verdicts
from monitor.alerting.look_requests import look_providers, look_results, look_windows
from monitor.alerting.look_shift import look_shifts
from monitor.alerting.nouns import Signal

_LOOKS: dict[type[Condition], Callable[[Rule, Any, Facts], Iterable[Signal]]] = {
    Result: look_results, Window: look_windows, Shift: look_shifts, OfVerdict: look_verdicts, BurnRate: look_burn,
    ProviderDown: look_providers, AgentOffline: look_agents, AgentTwice: look_twice,
    ConfigInvalid: look_configuration,
}  # fmt: skip


def signals(rules: Iterable[Rule], facts: Facts) -> Iterator[Signal]:
    """Yield what each of `rules` sees in `facts`."""
    for rule in rules:
        yield from _LOOKS[type(rule.condition)](rule, rule.condition, facts)
