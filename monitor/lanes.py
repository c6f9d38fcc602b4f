"""Who may run beside whom, so that we do not disturb our own measurements. Pure.

Latency probes run alone: nothing else of that provider, and nothing in bulk on this agent, runs at the same time
(answers of a bulk probe share the machine, the line and the event loop). Bulk probes of one provider run one after the
other, those of several providers side by side, and so do latency probes.

A latency probe goes before bulk probes that wait, but a bulk probe that has waited for `PATIENCE_S` is passed by
nobody who comes later: so neither starves.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Lane = Literal["latency", "bulk"]

PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turn:
    """Somebody who runs or waits to. ``asked_s`` is monotonic."""

    provider: str
    lane: Lane
    asked_s: float

    @property
    def rank(self) -> float:
        """Lower goes first."""
        return self.asked_s + (PATIENCE_S if self.lane == "bulk" else 0.0)


def startable(waiting: Collection[Turn], running: Sequence[Turn]) -> list[Turn]:
    """Return those of `waiting` that may start now: nobody who runs, and nobody who waits before them, is disturbed."""
    started: list[Turn] = []
    providers, lanes = {turn.provider for turn in running}, {turn.lane for turn in running}
    for turn in sorted(waiting, key=lambda one: one.rank):
        if turn.provider not in providers and lanes <= {turn.lane}:
            started.append(turn)
        providers.add(turn.provider)
        lanes.add(turn.lane)
    return started


def lane_of(probe: Any) -> Lane:
    """Return the lane that a probe asks for: ``latency`` when it says so, else ``bulk``."""
    lane: Lane = getattr(probe, "lane", "bulk")
    return lane
