"""Checks of what the configuration names: keys, golden folders, the store, the spools, the processes."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx

from jobs.doctor import Finding, Status
from jobs.trust import trusting
from monitor.agent_sign import AgentSign, at_once, names
from monitor.codec import decode
from monitor.config_types import Config
from monitor.errors import ConfigError, GoldenError, SpoolFullError, StoreError
from monitor.ports import Clock

CLOCK_WARNS_S, CLOCK_FAILS_S = 2.0, 30.0
"""Offset between two machines; the Date header has whole seconds, so less than one says nothing."""
MUCH_WAITS = 10_000
_LIMIT_S = 5.0

@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    agents: tuple[AgentSign, ...]


def configuration(path: Path, mistakes: ConfigError | None) -> Iterator[Finding]:
    """The configuration file itself. With mistakes, other checks look at where the service is and at no endpoint."""
    if mistakes is None:
        yield Finding(check="configuration", subject=str(path), status="ok", seen="valid")
    else:
        yield Finding(
            check="configuration", subject=str(path), status="failed", seen=str(mistakes),
            remedy="mend it (`weighmaster check` says when it is right); processes go on with what they read before",
        )  # fmt: skip


def keys(config: Config, exposed: Iterable[Path]) -> Iterator[Finding]:
    """Keys of endpoints that have no value, and secret files that everybody can read."""
    found = [
        Finding(
            check="keys", subject=one.endpoint.name, status="failed", seen=one.disabled,
            remedy="set it where the agent starts, then start the agent again; until then this endpoint is skipped",
        )
        for one in config.endpoints if one.disabled
    ]  # fmt: skip
    found += [
        Finding(
            check="keys", subject=str(file), status="warning", seen="every user of this machine can read it",
            remedy=f"chmod o-r {file}",
        )
        for file in exposed
    ]  # fmt: skip
    n = sum(one.api_key is not None for one in config.endpoints)
    yield from found or [Finding(check="keys", subject="all", status="ok", seen=f"{n} keys have a value")]


def golden(config: Config) -> Iterator[Finding]:
    """Golden folders against their seals; files whose size and time are as before are not read again."""
    from reference.fingerprint import verify  # noqa: PLC0415

    for name, one in config.references.items():
        if one.engine == "pack":
            continue
        try:
            verify(Path(one.paths[0]), revision=one.revision)
        except (GoldenError, OSError) as error:
            yield Finding(
                check="golden", subject=name, status="failed", seen=str(error),
                remedy="weighmaster reference build, or put the right path into references",
            )  # fmt: skip
        else:
            yield Finding(check="golden", subject=name, status="ok", seen="sealed and unchanged")


def store(config: Config, url: str, clock: Clock, version: str, schema: int) -> Iterator[Finding]:
    """Whether the store answers, with our version and schema, and by what its clock differs from ours."""
    token = config.store.bearer
    headers = {"authorization": f"Bearer {token}"} if token else {}
    before = clock.now()
    try:
        reply = httpx.get(
            f"{url}/metrics", headers=headers, timeout=_LIMIT_S, trust_env=False, follow_redirects=False,
            verify=trusting(config.store.tls_ca),
        )  # fmt: skip
    except httpx.ReadTimeout:
        seen, remedy = f"took the connection and said nothing for {_LIMIT_S:g} s", "it hangs: end it and start it again"
        yield Finding(check="store", subject=url, status="failed", seen=seen, remedy=remedy)
        yield Finding(check="clock", subject="offset", status="unknown", seen="needs a store that answers")
        return
    except httpx.HTTPError as error:
        yield Finding(
            check="store", subject=url, status="failed", seen=f"does not answer ({type(error).__name__})",
            remedy="start it: weighmaster up, or weighmaster store",
        )  # fmt: skip
        yield Finding(check="clock", subject="offset", status="unknown", seen="needs a store that answers")
        return
    now = clock.now()
    if reply.status_code == 403:
        seen = "takes what this agent measured; its own token reads no metrics, so versions are not compared"
        yield Finding(check="store", subject=url, status="ok", seen=seen)
    elif reply.status_code != 200:
        remedy = "give both the same store.token" if reply.status_code in {401, 403} else "see the store's log"
        yield Finding(check="store", subject=url, status="failed", seen=f"HTTP {reply.status_code}", remedy=remedy)
    else:
        yield from told(reply.text, url, version, schema)
    yield offset(reply.headers.get("date"), before, now)


def agents(config: Config, url: str, clock: Clock) -> Iterator[Finding]:
    """Whether two agents run under the name of one vantage. Says nothing of a store that does not answer."""
    headers = {"authorization": f"Bearer {config.store.bearer}"} if config.store.bearer else {}
    try:
        reply = httpx.get(
            f"{url}/api/agents", headers=headers, timeout=_LIMIT_S, trust_env=False, follow_redirects=False,
            verify=trusting(config.store.tls_ca),
        )  # fmt: skip
        signs = decode(_Signs, reply.content).agents if reply.status_code == 200 else ()
    except (httpx.HTTPError, ValueError):
        return
    doubled = at_once(signs, clock.now())
    for place, own in doubled.items():
        yield Finding(
            check="agents", subject=place, status="failed", seen=f"{len(own)} agents run as {place}: {names(own)}",
            remedy="end one, or give it another vantage and a spool of its own",
        )  # fmt: skip
    if signs and not doubled:
        yield Finding(check="agents", subject="all", status="ok", seen="one at each vantage")


def told(metrics: str, url: str, version: str, schema: int) -> Iterator[Finding]:
    """What the store's metrics say of its version, its schema and its configuration."""
    theirs = metrics.partition('weighmaster_build_info{version="')[2].partition('"')[0]
    found = metrics.partition("\nweighmaster_store_schema ")[2].partition("\n")[0]
    same = (theirs, found) == (version, str(schema))
    yield Finding(
        check="store", subject=url, status="ok" if same else "warning",
        seen=f"version {theirs or 'unknown'}, schema {found or 'unknown'}; here {version}, {schema}",
        remedy=None if same else "install the same version on both sides and start the store again",
    )  # fmt: skip
    if "\nweighmaster_config_valid 0\n" in metrics:
        yield Finding(
            check="store", subject="configuration", status="warning",
            seen="its file changed and is not valid; it works with the one before", remedy="weighmaster check",
        )  # fmt: skip


def offset(date: str | None, before: datetime, after: datetime) -> Finding:
    """How far the clock behind a Date header is from ours, which read `before` and `after` around the request."""
    try:
        theirs = parsedate_to_datetime(date or "")
        late = (before - theirs).total_seconds() - 1.0  # a header of 12:00:00 was written before 12:00:01
        early = (theirs - after).total_seconds()
    except (ValueError, TypeError):
        return Finding(check="clock", subject="offset", status="unknown", seen="the store sends no date")
    seconds = max(late, early, 0.0)
    status: Status = "failed" if seconds > CLOCK_FAILS_S else "warning" if seconds > CLOCK_WARNS_S else "ok"
    return Finding(
        check="clock", subject="offset", status=status, seen=f"at least {seconds:.0f} s between store and here",
        remedy=None if status == "ok" else "let NTP set both clocks (timedatectl set-ntp true)",
    )  # fmt: skip


def spools(paths: Iterable[Path]) -> Iterator[Finding]:
    """How much waits for the store."""
    from storage.spool import SqliteSpool  # noqa: PLC0415

    for path in paths:
        if not path.exists():
            yield Finding(check="spools", subject=str(path), status="ok", seen="not there yet")
            continue
        size = sum(one.stat().st_size for one in path.parent.glob(f"{path.name}*")) / 1e6
        try:
            with closing(SqliteSpool(path, writer=None)) as spool:
                waiting = spool.backlog()
        except SpoolFullError as error:
            remedy = "make room on the disk; nothing that it holds is lost"
            yield Finding(check="spools", subject=str(path), status="failed", seen=str(error), remedy=remedy)
            continue
        except StoreError as error:
            remedy = "stop its process, move the file aside, start again; what was in it is lost"
            yield Finding(check="spools", subject=str(path), status="failed", seen=str(error), remedy=remedy)
            continue
        much = waiting > MUCH_WAITS
        yield Finding(
            check="spools", subject=str(path), status="warning" if much else "ok",
            seen=f"{waiting} records wait for the store, {size:.1f} MB",
            remedy="is the store reachable? nothing is lost while there is disk" if much else None,
        )  # fmt: skip


def processes(found: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Which processes of this machine work, as ``health`` sees them."""
    for one in found:
        works, reason = one["alive"], one["reason"]
        status: Status = "failed" if not works else "warning" if reason else "ok"
        remedy = "weighmaster check" if works else f"weighmaster up, or weighmaster {one['process']}"
        yield Finding(
            check="processes", subject=one["process"], status=status, seen=reason or "works",
            remedy=None if status == "ok" else remedy,
        )  # fmt: skip
