"""Keys planted in the environment and in a file, real processes, an endpoint that repeats what it is sent.

Oracle: a search of all that the processes wrote, answered, logged and sent. The same service then gets a bad and a good
configuration file. Oracle: whom the agent asks, and what the alert route is told.
"""

import asyncio
import itertools
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from jobs.dashboard_process import free_port
from tests.alerts.receiver import Receiver, receiver
from tests.jobs.service_processes import Processes, processes, until
from tests.probes.test_canary import ANSWERS, layers
from tests.probes.transport.servers import Handler, read_request, serving

IN_ENVIRONMENT = "sk-canary/environ-0123456789"
IN_FILE = "sk-canary/in-file-9876543210"
TOKEN = "token-canary-5555555555"
HOOK = "hook-canary-77777777777777777777"
CANARIES = (IN_ENVIRONMENT, IN_FILE, TOKEN, HOOK)
ENVIRON = {"CANARY_KEY": IN_ENVIRONMENT, "CANARY_TOKEN": TOKEN, "CANARY_HOOK": HOOK}

CONFIG = """
vantage: test
store: {{path: '{folder}/data/store.duckdb', listen: '127.0.0.1:{port}', token: '${{CANARY_TOKEN}}'}}
dashboard: {{listen: '127.0.0.1:{free}'}}
agent: {{spool: '{folder}/data/spool.sqlite'}}
alerts:
  every: 1s
  group_wait: 1s
  rules: {{any: {{kind: result, outcomes: [auth_error, error_in_stream], fire: 1 of 1}}}}
  routes: {{hook: {{kind: webhook, url: '{hook}', secret: '${{CANARY_HOOK}}', allow_private: true}}}}
endpoints:
  - {{name: environ/leak, base_url: '{url}/v1', model: m, api_key: '${{CANARY_KEY}}'}}
  - {{name: file/leak, base_url: '{url}/v1', model: m, api_key: '${{file:key}}'}}
  - {{name: none/leak, base_url: '{url}/v1', model: m, api_key: '${{NOBODY_SETS_THIS}}'}}
probes: [{{kind: logprobs, every: 1s, one_token: 2, greedy: 1, greedy_tokens: 2}}]
"""
MORE = "  - {{name: later/leak, base_url: '{url}/later/v1', model: m, api_key: '${{CANARY_KEY}}'}}\n"


class Leaking:
    """Repeats the key in every way in turn; remembers which keys and paths it was sent."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.paths: set[str] = set()
        self._turn = itertools.cycle(ANSWERS)

    def handler(self) -> Handler:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            request = await read_request(reader)
            found = re.search(rb"(?i)authorization: (.*)\r\n", request)
            auth = found[1] if found else b"none"
            self.seen.add(auth.decode().removeprefix("Bearer "))
            self.paths.add(request.split(b" ")[1].decode())
            writer.write(next(self._turn)(auth))
            await writer.drain()

        return handle


def written(parts: dict[str, Any], text: str = CONFIG) -> str:
    return text.format(**parts)


def asked(url: str) -> dict[str, str]:
    """Everything that the store tells, with the token that lets one in."""
    names = [
        "overview", "verdicts", "incidents", "unjudged", "coverage?since=2020-01-01T00:00:00Z",
        "alerts?now=2030-01-01T00:00:00Z", "alert-state?now=2030-01-01T00:00:00Z&since=2020-01-01T00:00:00Z",
        *(f"{read}?endpoint={one}/leak" for read in ("runs", "exchanges") for one in ("environ", "file", "none")),
    ]  # fmt: skip
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {TOKEN}"}, trust_env=False) as store:
        told = {name: store.get(f"/api/{name}") for name in names}
        told |= {name: store.get(name) for name in ("/metrics", "/healthz", "/openapi", "/openapi.json")}
        ids = [row["exchange_id"] for one in ("environ", "file") for row in exchanges(told, one)]
        told |= {f"capture {one}": store.get("/api/capture", params={"id": one}) for one in ids}
    assert {name: reply.status_code for name, reply in told.items() if reply.status_code != 200} == {}
    return {name: reply.text for name, reply in told.items()}


def exchanges(told: dict[str, httpx.Response], one: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = told[f"exchanges?endpoint={one}/leak"].json()["exchanges"]
    return found


def commanded(service: Processes) -> dict[str, str]:
    lines = [
        ("check",), ("check", "--json"), ("status", "--json"), ("health", "--json"), ("alerts", "--json"),
        ("doctor", "--json"), ("doctor",),
    ]  # fmt: skip
    return {" ".join(line): service.ask(*line) for line in lines}


def leaks(sources: dict[str, bytes]) -> list[str]:
    keys = [one.encode() for one in CANARIES]
    return [name for name, data in sources.items() if any(key in one for one in layers(data) for key in keys)]


def files(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "key"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def told_of(hook: Receiver, words: str) -> bool:
    return any(words.encode() in one.body for one in hook.got)


async def test_no_artefact_holds_a_key_and_a_new_configuration_is_taken(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(IN_FILE + "\n", encoding="utf-8")
    (tmp_path / "key").chmod(0o600)
    endpoint, port = Leaking(), free_port("127.0.0.1")
    with receiver() as hook:
        async with serving(endpoint.handler()) as url, processes(tmp_path, ENVIRON) as service:
            parts = {"folder": tmp_path, "port": port, "free": free_port("127.0.0.1"), "url": url, "hook": hook.url}
            service.config.write_text(written(parts), encoding="utf-8")
            for name in ("store", "agent", "judge"):
                service.start(name)
            store = f"http://127.0.0.1:{port}"
            service.start("probe", "file/leak", "--out", str(tmp_path / "out"))
            await until(lambda: told_of(hook, "environ/leak") and told_of(hook, "file/leak"), "alerts on the keys")
            told = await asyncio.to_thread(asked, store)
            said = await asyncio.to_thread(commanded, service)
            await changed(service, parts, hook, endpoint)
    assert endpoint.seen == {IN_ENVIRONMENT, IN_FILE}
    assert sum(name.startswith("capture ") and '"reads"' in text for name, text in told.items()) > 3
    assert "endpoint disabled" in told["coverage?since=2020-01-01T00:00:00Z"]
    assert all("NOBODY_SETS_THIS is not set" in said[name] for name in ("check", "check --json", "doctor --json"))
    assert list((tmp_path / "out").rglob("*.capture"))
    sources = {name: text.encode() for name, text in (told | said).items()}
    sources |= {f"webhook {n}": json.dumps(one.headers).encode() + one.body for n, one in enumerate(hook.got)}
    assert leaks(sources | files(tmp_path)) == []
    assert leaks({"planted": f"x{IN_FILE}".encode()}) == ["planted"]


def logged(service: Processes, name: str, words: str) -> bool:
    return words in service.log(name)


async def changed(service: Processes, parts: dict[str, Any], hook: Receiver, endpoint: Leaking) -> None:
    """A bad file, with a key in a wrong place, then a good one with one endpoint more."""
    good = written(parts)
    bad = good.replace("model: m", "model: '${CANARY_KEY}', modle: '${CANARY_KEY}'")
    service.config.write_text(bad, encoding="utf-8")
    await until(lambda: told_of(hook, "config_invalid"), "an alert on the configuration")
    for name in ("agent", "judge", "store"):
        await until(partial(logged, service, name, "stays in force"), f"the log of the {name}")
    service.config.write_text(good.replace("probes:", written(parts, MORE) + "probes:"), encoding="utf-8")
    await until(lambda: "/later/v1/chat/completions" in endpoint.paths, "a request to the new endpoint")
    await until(
        lambda: any(b"resolved" in one.body and b"config_invalid" in one.body for one in hook.got), "the alert to end"
    )
