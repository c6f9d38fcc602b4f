"""Table of agents: the newest sign of each, by its vantage and the spool that it writes from."""

from collections.abc import Callable, Mapping
from typing import Any

from monitor.agent_sign import AgentSign
from monitor.codec import encode, finite
from storage.instants import check_zones, utc

SCHEMA = """
CREATE TABLE agents (
    vantage VARCHAR, version VARCHAR, "at" TIMESTAMPTZ, clock_offset_s DOUBLE, clock_error_s DOUBLE, waiting BIGINT,
    record JSON
);
"""

# Two agents may have one vantage by mistake: that has to show, so the newest of each is kept. What the table held comes
# again within a minute.
BY_SPOOL = """
DELETE FROM agents;
ALTER TABLE agents ADD COLUMN agent VARCHAR;
"""

REPLACED: Mapping[str, str] = {"agents": "agent"}

_Rows = dict[str, list[dict[str, Any]]]


def _sign(noun: AgentSign) -> _Rows:
    check_zones(noun, "agent")
    row = {
        "agent": f"{noun.vantage} {noun.writer or ''}", "vantage": noun.vantage, "version": noun.version,
        "at": utc("at", noun.at),
        "clock_offset_s": finite(noun.clock_offset_s), "clock_error_s": finite(noun.clock_error_s),
        "waiting": noun.waiting, "record": encode(noun).decode(),
    }  # fmt: skip
    return {"agents": [row]}


KINDS: Mapping[str, tuple[type[Any], Callable[[Any], _Rows]]] = {"agent": (AgentSign, _sign)}
