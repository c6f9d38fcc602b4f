"""The read of agents: the newest sign of each that runs, or ran last."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from monitor.errors import StoreError
from storage.interface import Json, ReadStore
from storage.parameters import Parameters

# Beside the newest of a vantage those that may still run: two at once are a mistake (`monitor.agent_sign`).
AGENTS = """
SELECT a.record FROM agents a JOIN (SELECT b.vantage, max(b."at") AS newest FROM agents b GROUP BY b.vantage) n
    ON n.vantage = a.vantage AND a."at" >= n.newest - INTERVAL 5 MINUTE
ORDER BY a.vantage, a."at"
"""


def _agents(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    """The newest sign of every agent: version, clock against the store's, records that wait."""

    def read() -> Json:
        if not hasattr(store, "read"):
            raise StoreError("this store keeps no agents: use one with a database")
        database: Any = store
        return {"agents": [orjson.loads(row["record"]) for row in database.read(AGENTS)]}

    return read


PLANS: Mapping[str, Callable[[ReadStore, Parameters], Callable[[], Any]]] = {"agents": _agents}
"""Reads under /api/ for those who pass them to `storage.api.app`."""
