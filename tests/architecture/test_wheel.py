"""The built wheel, outside the checkout: everything that runs is in it, and nothing else."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


def test_holds_the_six_packages_and_their_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    info = {top for top in tops if top.endswith(".dist-info")}
    assert tops - info == {"monitor", "probes", "reference", "storage", "dashboard", "jobs"}
    assert sum("jobs/lab_faults/answers/" in name for name in names) == 6
    assert "jobs/lab_faults/no_default_system.jinja" in names


def test_runs_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = (
        f"import sys; sys.path[:0] = [{str(site)!r}]\n"
        "import json, jobs, jobs.settings\n"
        "found = jobs.settings.catalogues()\n"
        "print(json.dumps({'at': jobs.__file__, 'probes': sorted(found.probes), 'detectors': sorted(found.detectors)}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["at"].startswith(str(site))
    assert {"speed", "logprobs"} <= set(found["probes"])
    assert {"accounting", "availability", "logprob_fidelity"} <= set(found["detectors"])
