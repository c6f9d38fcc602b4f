"""Table of agents: the newest sign of each, by vantage."""

from collections.abc import Callable, Mapping
from typing import Any

from monitor.agent_sign import AgentSign
from monitor.codec import encode, finite
from storage.instants import utc

SCHEMA = """
CREATE TABLE agents (
    vantage VARCHAR, version VARCHAR, "at" TIMESTAMPTZ, clock_offset_s DOUBLE, clock_error_s DOUBLE, waiting BIGINT,
    record JSON
);
"""

REPLACED: Mapping[str, str] = {"agents": "vantage"}

_Rows = dict[str, list[dict[str, Any]]]


def _sign(noun: AgentSign) -> _Rows:
    row = {
        "vantage": noun.vantage, "version": noun.version, "at": utc("at", noun.at),
        "clock_offset_s": finite(noun.clock_offset_s), "clock_error_s": finite(noun.clock_error_s),
        "waiting": noun.waiting, "record": encode(noun).decode(),
    }  # fmt: skip
    return {"agents": [row]}


KINDS: Mapping[str, tuple[type[Any], Callable[[Any], _Rows]]] = {"agent": (AgentSign, _sign)}
