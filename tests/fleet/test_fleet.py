"""Two agents in two places, one store over TLS, as real processes. Oracle: the schedule, the spools, and counting."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from jobs.dashboard_process import free_port
from jobs.trust import trusting
from storage.spool import SqliteSpool
from tests.config.fake_endpoint import Kind
from tests.config.fake_endpoint import serving as endpoint
from tests.jobs.service_processes import Processes, processes, until
from tests.probes.transport.servers import PEM

TOKENS = {"OWNER": "owner-token-11111", "EU": "eu-token-22222222", "US": "us-token-33333333"}
CENTRE = """
vantage: centre
store:
  path: '{folder}/centre/store.duckdb'
  listen: '127.0.0.1:{port}'
  token: '${{OWNER}}'
  agents: [{{vantage: eu, token: '${{EU}}'}}, {{vantage: us, token: '${{US}}'}}]
  tls_certificate: '{pem}'
  tls_key: '{pem}'
  tls_ca: '{pem}'
agent: {{spool: '{folder}/centre/spool.sqlite'}}
endpoints: [{{name: acme/a, base_url: '{url}', model: m}}]
"""
AGENT = """
vantage: {vantage}
store: {{token: '${{{token}}}', tls_ca: '{pem}'}}
agent: {{spool: '{folder}/{place}/spool.sqlite'}}
endpoints: [{{name: acme/a, base_url: '{url}', model: m}}, {{name: acme/b, base_url: '{url}', model: m}}]
probes: [{{kind: logprobs, every: 1s, one_token: 1, greedy: 1, greedy_tokens: 2}}]
"""


def told(url: str, token: str = TOKENS["OWNER"]) -> httpx.Client:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.Client(base_url=f"{url}/api", headers=headers, verify=trusting(str(PEM)), trust_env=False, timeout=30)


def slots(url: str) -> list[dict[str, Any]]:
    try:
        with told(url) as store:
            found: list[dict[str, Any]] = store.get("/slots", params={"limit": 1000}).json()["slots"]
    except httpx.HTTPError:
        return []
    return found


def done(url: str, vantage: str) -> int:
    return sum(one["state"] == "done" and one["vantage"] == vantage for one in slots(url))


def signed(url: str) -> set[str]:
    with told(url) as store:
        return {one["vantage"] for one in store.get("/agents").json()["agents"]}


def waiting(path: Path) -> int:
    spool = SqliteSpool(path, writer=None)
    try:
        return spool.backlog()
    finally:
        spool.close()


@asynccontextmanager
async def places(folder: Path, *names: str) -> AsyncIterator[list[Processes]]:
    async with AsyncExitStack() as stack:
        made = []
        for name in names:
            (folder / name).mkdir()
            made.append(await stack.enter_async_context(processes(folder / name, TOKENS)))
        yield made


async def test_agents_measure_on_while_the_centre_is_down_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    port = free_port("127.0.0.1")
    store = f"https://127.0.0.1:{port}"
    with endpoint(Kind()) as acme:
        async with places(tmp_path, "centre", "eu", "us", "thief") as (centre, *agents):
            about = {"folder": tmp_path, "port": port, "url": f"{acme.url}/v1", "pem": PEM}
            centre.config.write_text(CENTRE.format(**about), encoding="utf-8")
            for agent, vantage, token in zip(agents, ("eu", "us", "us"), ("EU", "US", "EU"), strict=True):
                text = AGENT.format(vantage=vantage, token=token, place=agent.folder.name, **about)
                agent.config.write_text(text, encoding="utf-8")
            centre.start("store")
            for agent in agents:
                agent.start("agent", "--store-url", store)
            await until(lambda: min(done(store, one) for one in ("eu", "us")) > 2, "runs of both agents")
            os.kill(centre.running[0].pid, signal.SIGKILL)
            centre.running.pop(0).wait()
            await until(lambda: min(waiting(tmp_path / one / "spool.sqlite") for one in ("eu", "us")) > 8, "spools")
            centre.start("store")
            await until(lambda: min(done(store, one) for one in ("eu", "us")) > 8, "what had waited")
            await until(lambda: signed(store) == {"eu", "us"}, "signs, which come after a push of all that waits")
            fleet = await asyncio.to_thread(centre.ask, "fleet", "--json", "--store-url", store)
            doctor = await asyncio.to_thread(agents[0].ask, "doctor", "--json", "--store-url", store)
            await until(lambda: "may not write" in agents[2].log("agent"), "the thief's refusal")
            for agent in agents[:2]:
                await asyncio.to_thread(agent.end)
            rows = await asyncio.to_thread(slots, store)
            await asyncio.to_thread(refused, store)
    per_slot = Counter((one["vantage"], one["endpoint"], one["slot_at"]) for one in rows)
    assert max(per_slot.values()) == 1
    for vantage in ("eu", "us"):
        for name in ("acme/a", "acme/b"):
            times = sorted(at[:19] for where, endpoint, at in per_slot if (where, endpoint) == (vantage, name))
            assert len(times) == seconds_between(times[0], times[-1]) + 1, "every second has its row, the outage too"
    assert waiting(tmp_path / "eu" / "spool.sqlite") == waiting(tmp_path / "us" / "spool.sqlite") == 0
    checks = {one["check"]: one for one in orjson.loads(doctor.splitlines()[0])["checks"]}
    assert (checks["store"]["status"], checks["clock"]["status"]) == ("ok", "ok"), "with a token that reads nothing"
    found = orjson.loads(fleet)
    assert [one["vantage"] for one in found["agents"]] == ["eu", "us"]
    for one in found["agents"]:
        assert abs(one["clock_offset_s"]) <= one["clock_error_s"] + 0.001, "the same machine, the same clock"
    seen = [(one["endpoint"], one["vantage"]) for one in found["regions"]]
    assert seen == [("acme/a", "eu"), ("acme/a", "us"), ("acme/b", "eu"), ("acme/b", "us")]
    assert all(one["answered"]["k"] == one["answered"]["n"] > 0 for one in found["regions"])


def seconds_between(first: str, last: str) -> int:
    def of(text: str) -> int:
        hours, minutes, seconds = (int(part) for part in text[11:19].split(":"))
        return hours * 3600 + minutes * 60 + seconds

    return (of(last) - of(first)) % 86400


def refused(url: str) -> None:
    """What a token of an agent cannot do, and who cannot connect at all."""
    with told(url, TOKENS["EU"]) as eu:
        statuses = {path: eu.get(f"/{path}").status_code for path in ("overview", "slots", "mark?writer=x", "health")}
        assert statuses == {"overview": 403, "slots": 403, "mark?writer=x": 200, "health": 200}
        stolen = eu.post("/ingest", json={"writer": "agent-us-0123456789abcdef", "entries": []})
        assert (stolen.status_code, "may not write as" in stolen.json()["error"]) == (403, True)
    with told(url, "nobody") as nobody:
        assert nobody.get("/overview").status_code == 401
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):  # nobody vouches for it
        httpx.get(f"{url}/healthz", trust_env=False)
