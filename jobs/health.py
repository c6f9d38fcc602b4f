"""``weighmaster health``: which processes of the service work, for people, containers and monitors."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from jobs.alive import judge_spool, life_of
from jobs.terminal import show, show_document
from jobs.trust import trusting
from monitor.config_types import Config
from monitor.errors import UsageError
from monitor.ports import Clock

Health = Mapping[str, Any]


def run(config: Config, names: Sequence[str], clock: Clock, *, as_json: bool) -> int:
    """Print how the processes `names` are, all when none is named; return 1 when one does not work."""
    found = health(config, names, clock)
    if as_json:
        show_document({"processes": found})
    else:
        show(_table(found))
    return 0 if all(one["alive"] for one in found) else 1


def health(config: Config, names: Sequence[str], clock: Clock) -> list[Health]:
    """``{"process", "alive", "reason", ...}`` of each process. Raises UsageError for a name that there is not."""
    checks = _checks(config, clock)
    unknown = [name for name in names if name not in checks]
    if unknown:
        raise UsageError(f"no process is called {unknown[0]}; there are {', '.join(checks)}")
    return [{"process": name, **check()} for name, check in checks.items() if not names or name in names]


def _checks(config: Config, clock: Clock) -> dict[str, Callable[[], Health]]:
    spool = Path(config.agent.spool)
    return {
        "store": lambda: _answers(f"{config.store.url}/healthz", config.store.tls_ca),
        "agent": lambda: life_of(spool, clock.now()),
        "judge": lambda: life_of(judge_spool(spool), clock.now()),
        "dashboard": lambda: _answers(f"{config.dashboard.listen.url}/healthz"),
    }


def _answers(url: str, ca: str | None = None) -> Health:
    try:
        reply = httpx.get(url, timeout=5, trust_env=False, follow_redirects=False, verify=trusting(ca))
    except httpx.HTTPError as error:
        return {"alive": False, "reason": f"{url} does not answer ({type(error).__name__})"}
    if reply.status_code == 200:
        return {"alive": True, "reason": None}
    return {"alive": False, "reason": f"{url} answered {reply.status_code}: {reply.text[:200]}"}


def _table(found: Sequence[Health]) -> Any:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table()
    for name in ("process", "works", "reason"):
        table.add_column(name)
    for one in found:
        table.add_row(one["process"], "yes" if one["alive"] else "no", Text(one["reason"] or ""))
    return table
