"""How the requests of a window ended: one count of each kind, which sum, and what is left out told apart."""

from collections.abc import Mapping

from monitor.comparison import Endings
from monitor.comparison_facts import Facts
from monitor.types import ANSWERED, BROKEN_TOOL_CALL, NOT_THE_ENDPOINTS_FAULT


def endings(facts: Facts) -> Endings:
    """Count the endings of all requests of an endpoint."""
    apart = {name: n for name, n in facts.outcomes.items() if name in NOT_THE_ENDPOINTS_FAULT}
    n, good = (facts.tally.n, facts.tally.good) if facts.tally is not None else (0, 0)
    left = max(0, sum(facts.outcomes.values()) - sum(apart.values()) - n)
    return Endings(
        good=good, n=n, faults=None if left else _faults(facts.outcomes, good), apart=apart, n_maintenance=left
    )


def _faults(outcomes: Mapping[str, int], good: int) -> dict[str, int]:
    """Outcomes that are no answer; complete answers that are not good have tool calls that cannot be parsed."""
    found = {name: n for name, n in outcomes.items() if name not in ANSWERED | NOT_THE_ENDPOINTS_FAULT}
    broken = sum(n for name, n in outcomes.items() if name in ANSWERED) - good
    return {**found, BROKEN_TOOL_CALL: broken} if broken > 0 else found


def endings_text(found: Endings) -> str:
    """Return such as ``35 good, 68 x truncated; not counted: 34 x rate_limited``."""
    text = ", ".join(part for part in (f"{found.good} good", counts_text(found.faults or {})) if part)
    if found.faults is None and found.n > found.good:
        text += f", {found.n - found.good} not"
    return text + apart_text(found)


def apart_text(found: Endings) -> str:
    """Return what is left out of the count, with a semicolon in front; empty where nothing is."""
    left = counts_text(found.apart)
    if found.n_maintenance:
        left += f"{', ' if left else ''}{found.n_maintenance} in announced maintenance"
    return f"; not counted: {left}" if left else ""


def counts_text(counts: Mapping[str, int]) -> str:
    """Return such as ``68 x truncated, 34 x http_5xx``, most frequent first."""
    return ", ".join(f"{n} x {name}" for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
