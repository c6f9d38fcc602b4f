"""What docs/deploy holds. Oracle: the command line, the configuration loader, pyproject.toml, and systemd's own check.

Nothing here starts a container or a unit: docs/operations.md says so.
"""

import configparser
import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from jobs.cli import build
from jobs.settings import load_config
from monitor.config_store import is_loopback

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
PROCESSES = ["agent", "dashboard", "judge", "store"]
HARDENED = {
    "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
    "PrivateDevices": "yes", "CapabilityBoundingSet": "", "RestrictNamespaces": "yes", "ProtectKernelTunables": "yes",
    "SystemCallFilter": "@system-service", "User": "weighmaster", "UMask": "0077",
}  # fmt: skip


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def parsed(words: list[str]) -> str:
    """The name of the command that `words` are, parsed by the real command line but not run."""
    command = typer.main.get_command(build())
    own = command.commands[words[0]]  # type: ignore[attr-defined]
    own.make_context(words[0], list(words[1:]))
    return str(own.name)


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines.splitlines() if line.strip())]


def of(word: str) -> list[str]:
    return [rest for name, rest in instructions() if name == word]


def test_the_services_of_compose_are_commands_of_ours() -> None:
    services = compose()["services"]
    assert sorted(services) == PROCESSES
    for name, service in services.items():
        assert parsed(service["command"]) == name
        test = service["healthcheck"]["test"]
        assert (test[:2], parsed(test[1:][1:])) == (["CMD", "weighmaster"], "health")
        assert test[3] == name


def test_containers_of_compose_are_shut_in() -> None:
    found = compose()
    for service in found["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service
        assert "environment" not in service  # keys are files
        assert {one["source"] for one in service["secrets"]} == set(found["secrets"])
        named = {volume.partition(":")[0] for volume in service["volumes"]}
        assert named - {"./weighmaster.yaml"} <= set(found["volumes"])
        # A volume and not `configs:`, which podman-compose leaves out in silence.
        assert "./weighmaster.yaml:/etc/weighmaster/weighmaster.yaml:ro" in service["volumes"]
        assert set(service["networks"]) <= set(found["networks"])
    published = [port for service in found["services"].values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8501:8501"]


@pytest.mark.parametrize("path", [DEPLOY / "weighmaster.yaml", DEPLOY / "systemd" / "weighmaster.yaml"])
def test_the_configurations_load_with_their_secrets_beside_them(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "weighmaster.yaml")
    for name in compose()["secrets"]:
        (tmp_path / name).write_text(f"{name}-value\n", encoding="utf-8")
    config = load_config(tmp_path / "weighmaster.yaml", {})
    assert [entry.disabled for entry in config.endpoints] == [None]
    assert config.store.token is not None
    assert is_loopback(config.store.listen.host) == (path.parent.name == "systemd")
    ports = {config.store.listen.port, config.dashboard.listen.port}
    assert ports == {8317, 8501}
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert {int(one) for one in re.findall(r"store:(\d+)", text)} == {8317}


def test_the_image_holds_the_whole_distribution_and_no_secret() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    copied = {one for rest in of("COPY") if not rest.startswith("--from") for one in rest.split()[:-1]}
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= copied
    assert all((ROOT / one).exists() for one in copied)
    extras = of("ARG")[0].partition("=")[2].split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])
    assert project["project"]["scripts"].keys() >= {json.loads(of("ENTRYPOINT")[0])[0]}
    told = [rest for word in ("ENV", "ARG", "COPY") for rest in of(word)]
    assert not [rest for rest in told if re.search(r"(?i)key|token|secret", rest)]
    wanted = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert wanted == copied


def test_the_image_runs_our_commands_as_nobody_in_particular() -> None:
    assert of("USER") == ["10001:10001"]
    words = [word for word, _ in instructions()]
    assert words.index("USER") > max(i for i, word in enumerate(words) if word == "RUN")
    assert words.count("FROM") == 2
    assert parsed(json.loads(of("CMD")[0])) == "up"
    health = json.loads(of("HEALTHCHECK")[0].partition("CMD ")[2])
    assert (health[0], parsed(health[1:])) == ("weighmaster", "health")


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_are_hardened_and_run_our_commands(path: Path) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    unit.optionxform = str  # type: ignore[method-assign,assignment]
    unit.read_string(path.read_text(encoding="utf-8"))
    service = unit["Service"]
    assert {name: service[name] for name in HARDENED} == HARDENED
    words = shlex.split(service["ExecStart"])
    assert (Path(words[0]).name, f"weighmaster-{parsed(words[1:])}") == ("weighmaster", path.stem)
    assert (int(service["Nice"]) == 0) == (path.stem == "weighmaster-agent")  # the agent measures
    loaded = re.findall(r"^LoadCredential=(\w+):", path.read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r": \$\{file:(\w+)\}", (DEPLOY / "systemd" / "weighmaster.yaml").read_text(encoding="utf-8"))
    assert sorted(loaded) == sorted(named)


def test_there_is_a_unit_for_each_process() -> None:
    assert [path.stem for path in UNITS] == [f"weighmaster-{name}" for name in PROCESSES]
