"""What must stay light: the help text and the agent. Oracles: loaded modules, and the CPU time of `python -c pass`."""

import json
import os
import subprocess
import sys

HEAVY = {"torch", "streamlit", "pandas", "scipy", "duckdb", "pyarrow", "transformers", "httpx", "apscheduler"}
LISTED = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def loaded(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LISTED}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom jobs.cli import build\nsys.argv = ['weighmaster', '--help']\n"
        "try:\n    build()()\nexcept SystemExit:\n    pass"
    )
    assert loaded(code).isdisjoint(HEAVY | {"numpy", "pydantic"})


def test_help_is_quick() -> None:
    """Under 20 times the CPU of `python -c pass`, best of three each: other work on the machine does not count."""

    def best(*arguments: str) -> float:
        times = []
        for _ in range(3):
            process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
            _, code, used = os.wait4(process.pid, 0)
            process.returncode = code
            assert code == 0
            times.append(used.ru_utime + used.ru_stime)
        return min(times)

    assert best("-m", "jobs.cli", "--help") < 20 * best("-c", "pass")


def test_the_agent_imports_neither_torch_duckdb_pandas_nor_scipy() -> None:
    code = (
        "import jobs.agent, jobs.service, jobs.clients\nfrom jobs.settings import catalogues\n"
        "catalogues(detectors=False)"
    )
    assert loaded(code).isdisjoint({"torch", "duckdb", "pandas", "scipy", "streamlit", "pyarrow", "transformers"})


def test_the_judge_needs_no_torch_until_a_reference_does() -> None:
    assert loaded("import jobs.judge, jobs.settings\njobs.settings.catalogues()").isdisjoint({"torch", "transformers"})
