"""Each check of ``doctor`` on a machine that is as the test says. Oracle: the fault that was made."""

import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import httpx
import pytest

from jobs import doctor_machine as machine
from jobs import doctor_service as service
from jobs.clock import SystemClock
from jobs.doctor import Finding, run
from jobs.doctor_checks import checks
from jobs.fleet import run as fleet
from jobs.settings import load_config
from jobs.version import version
from monitor.agent_sign import AgentSign
from monitor.codec import plain
from monitor.config_fields import Address
from monitor.errors import ConfigError
from storage.api import app
from storage.migrations import MIGRATIONS
from storage.spool import SqliteSpool
from storage.store import DuckStore
from tests.storage.processes import store_process

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
CONFIG = """
store: {{path: '{folder}/store.duckdb', listen: '127.0.0.1:{port}'}}
dashboard: {{listen: '127.0.0.1:0'}}
agent: {{spool: '{folder}/spool.sqlite'}}
references: {{golden: {{path: '{folder}/nowhere'}}}}
endpoints: [{{name: a/x, base_url: 'https://h.example', model: m, api_key: '${{A_KEY}}'}}]
"""


def seen(findings: object) -> list[tuple[str, str]]:
    return [(one.subject, one.status) for one in findings]  # type: ignore[attr-defined]


def test_python() -> None:
    assert seen(machine.python()) == [("version", "ok")]
    assert seen(machine.python((3, 10, 4))) == [("version", "failed")]


def test_packages_are_compared_with_what_is_required_and_what_was_tested() -> None:
    there = {"one": "1.5", "two": "3.0"}

    def version_of(name: str) -> str:
        if name not in there:
            raise PackageNotFoundError(name)
        return there[name]

    required = ["one>=1,<2", "two<3", "three>=1", "four>=1; extra == 'lab'"]
    found = list(machine.packages(required, version_of, {"one": "1.4"}))
    assert seen(found) == [("one", "warning"), ("two", "failed"), ("three", "failed")]
    assert found[2].remedy == "pip install 'three>=1'"
    assert seen(machine.packages(["one"], version_of)) == [("all", "ok")]


def test_this_installation_fits() -> None:
    assert "failed" not in [one.status for one in machine.packages()]
    assert seen(machine.names(ROOT)) == [("packages", "ok")]
    assert machine.constraints(ROOT / "constraints.txt")["httpx"]
    assert machine.constraints(ROOT / "nothing") == {}


def test_names_that_others_have_too(tmp_path: Path) -> None:
    owners = {"storage": ["weighmaster", "other"]}
    found = list(machine.names(ROOT, owners, lambda name: (tmp_path if name == "jobs" else ROOT) / name / "x.py"))
    assert seen(found) == [("storage", "failed"), ("jobs", "failed")]
    assert "pip uninstall other" in (found[0].remedy or "")


@pytest.mark.parametrize(("free", "status"), [(10**8, "failed"), (10**9, "warning"), (10**11, "ok")])
def test_disk_of_folders_that_are_not_there_yet(free: int, status: str, tmp_path: Path) -> None:
    assert seen(machine.disk([tmp_path / "a" / "b", tmp_path], lambda _: free)) == [(str(tmp_path), status)]


@pytest.mark.parametrize(
    ("place", "why"), [("file/spools", "file is no folder"), ("/proc", "/proc cannot be written to")]
)
def test_a_folder_that_cannot_be_made_is_said_before_it_is_needed(place: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / place  # an absolute place replaces it
    (found, *_) = machine.disk([folder], lambda _: 10**10)
    assert (found.check, found.subject, found.status) == ("disk", str(folder), "failed")
    assert why in found.seen
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]  # nothing is left behind


def test_ports() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = {"store": Address(host="127.0.0.1", port=other.getsockname()[1])}
        assert seen(machine.ports(taken, lambda _: False)) == [("store", "failed")]
        assert seen(machine.ports(taken, lambda _: True)) == [("store", "ok")]
    assert seen(machine.ports({"store": Address(host="127.0.0.1", port=0)}, lambda _: False)) == [("store", "ok")]


@pytest.mark.parametrize(
    ("off_s", "status"),
    [(0, "ok"), (0.9, "ok"), (2.5, "ok"), (5, "warning"), (-5, "warning"), (3600, "failed"), (-60, "failed")],
)
def test_clock(off_s: float, status: str) -> None:
    """The header is cut to whole seconds, so 2.5 s may be 1.5 s."""
    header = format_datetime((NOW + timedelta(seconds=off_s)).replace(microsecond=0), usegmt=True)
    assert service.offset(header, NOW, NOW + timedelta(milliseconds=20)).status == status


@pytest.mark.parametrize("header", [None, "yesterday"])
def test_no_clock_is_unknown(header: str | None) -> None:
    assert service.offset(header, NOW, NOW).status == "unknown"


def test_metrics_of_another_version_or_with_a_bad_file() -> None:
    text = '# x\nweighmaster_build_info{version="1"} 1\nweighmaster_config_valid %d\nweighmaster_store_schema 3\n'
    assert seen(service.told(text % 1, "u", "1", 3)) == [("u", "ok")]
    assert seen(service.told(text % 1, "u", "2", 3)) == [("u", "warning")]
    assert seen(service.told(text % 0, "u", "1", 4)) == [("u", "warning"), ("configuration", "warning")]


def test_spools(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer="agent")
    spool.append([("run", b"{}")] * 3)
    spool.close()
    (tmp_path / "broken").write_bytes(b"no database at all" * 100)
    paths = [tmp_path / name for name in ("spool.sqlite", "none", "broken")]
    found = list(service.spools(paths))
    assert [one.status for one in found] == ["ok", "ok", "failed"]
    assert found[0].seen.startswith("3 records wait")
    assert not (tmp_path / "none").exists()


def test_processes() -> None:
    one = {"process": "agent", "alive": True, "reason": None}
    rows = [one, one | {"reason": "old configuration"}, one | {"alive": False, "reason": "dead"}]
    assert [finding.status for finding in service.processes(rows)] == ["ok", "warning", "failed"]


def signed(url: str, *writers: str) -> None:
    """Let agents of one vantage sign: both have run for an hour."""
    now = datetime.now(UTC)
    for writer in writers:
        one = AgentSign(
            vantage="berlin", version="1", at=now, waiting=0, writer=writer, host="h", since=now - timedelta(hours=1)
        )
        entry = {"seq": 1, "kind": "agent", "data": plain(one)}
        reply = httpx.post(f"{url}/api/ingest", json={"writer": writer, "entries": [entry]}, trust_env=False)
        assert reply.status_code == 200


def test_all_checks_on_a_real_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "weighmaster.yaml"
    with store_process(tmp_path / "store.duckdb") as (_, url):
        path.write_text(CONFIG.format(folder=tmp_path, port=url.rpartition(":")[2]), encoding="utf-8")
        signed(url, "agent-a", "agent-b")
        assert run(checks(path, {}, SystemClock(), None), as_json=True) == 1
        document = json.loads(capsys.readouterr().out)
        assert fleet(load_config(path, {}), url, SystemClock(), since_s=60, as_json=True) == 1
    assert [one["twice"] for one in json.loads(capsys.readouterr().out)["agents"]] == [True, True]
    (twice,) = [one for one in document["checks"] if one["check"] == "agents"]
    assert (twice["subject"], twice["status"]) == ("berlin", "failed")
    assert twice["seen"] == "2 agents run as berlin: h (agent-a), h (agent-b)"
    status = {(one["check"], one["subject"]): one["status"] for one in document["checks"]}
    assert status[("store", url)] == "ok"
    assert (status[("clock", "offset")], status[("ports", "store")]) == ("ok", "ok")
    assert (status[("keys", "a/x")], status[("golden", "golden")]) == ("failed", "failed")
    assert (status[("processes", "store")], status[("processes", "agent")]) == ("ok", "failed")
    assert document["ok"] is False
    assert all(one["remedy"] for one in document["checks"] if one["status"] in {"failed", "warning"})


def test_a_store_that_is_not_there_and_a_secret_that_all_can_read(tmp_path: Path) -> None:
    path, key = tmp_path / "weighmaster.yaml", tmp_path / "key"
    key.write_text("k" * 9, encoding="utf-8")
    key.chmod(0o644)
    text = CONFIG.format(folder=tmp_path, port=9).replace("${A_KEY}", "${file:key}")
    path.write_text(text, encoding="utf-8")
    found = [one for check in checks(path, {}, SystemClock(), "http://127.0.0.1:9") for one in check()]
    status = {(one.check, one.subject): one.status for one in found}
    assert status[("store", "http://127.0.0.1:9")] == "failed"
    assert status[("clock", "offset")] == "unknown"
    assert status[("keys", str(key))] == "warning"


def test_a_store_that_hangs_is_told_from_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listener that takes connections and never answers."""
    monkeypatch.setattr(service, "_LIMIT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        path = tmp_path / "weighmaster.yaml"
        path.write_text(CONFIG.format(folder=tmp_path, port=port), encoding="utf-8")
        config = load_config(path, {"A_KEY": "k"})
        found = list(service.store(config, config.store.url, SystemClock(), "1", 1))
        taken_by = list(machine.ports({"store": config.store.listen}, lambda _: False))
    assert (found[0].status, found[0].remedy) == ("failed", "it hangs: end it and start it again")
    assert taken_by[0].seen == f"127.0.0.1:{port}: Address already in use, and what has it does not answer as our store"


def test_a_bad_configuration_is_a_finding_beside_the_others(tmp_path: Path) -> None:
    """The service goes on with its old one: whether it works is what somebody wants to know just then."""
    path = tmp_path / "weighmaster.yaml"
    path.write_text("endpoints: 3\n", encoding="utf-8")
    found = [one for check in checks(path, {}, SystemClock(), "http://127.0.0.1:9") for one in check()]
    assert (found[0].check, found[0].status) == ("configuration", "failed")
    assert "endpoints" in found[0].seen
    assert {"disk", "store", "processes"} <= {one.check for one in found}
    path.write_text("store: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        checks(path, {}, SystemClock(), None)


def test_the_table_shows_all_and_the_exit_code_follows_failures(capsys: pytest.CaptureFixture[str]) -> None:
    fine = Finding(check="a", subject="b", status="warning", seen="[red]c", remedy="d")
    assert run([lambda: [fine]], as_json=False) == 0
    assert "[red]c" in capsys.readouterr().out


async def test_the_store_tells_its_schema(tmp_path: Path) -> None:
    store = DuckStore(tmp_path / "store.duckdb")
    try:
        served = app(store, version=version(), config_valid=lambda: False)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://s") as client:
            text = (await client.get("/metrics")).text
    finally:
        store.close()
    assert seen(service.told(text, "u", version(), len(MIGRATIONS))) == [("u", "ok"), ("configuration", "warning")]
