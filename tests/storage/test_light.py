"""What the agent takes from here stays light. Oracle: the modules that a fresh interpreter has loaded afterwards."""

import subprocess
import sys

from tests.storage.processes import ROOT

HEAVY = ("duckdb", "pandas", "pyarrow", "scipy", "torch", "starlette", "uvicorn", "streamlit")


def _loaded(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return {name for name in done.stdout.split() if name in HEAVY}


def test_spool_and_client_load_nothing_heavy() -> None:
    assert _loaded("storage.spool") == set()
    assert _loaded("jobs.store_client") == set()


def test_the_store_process_loads_the_database_and_the_server_only() -> None:
    assert _loaded("jobs.store_process") == {"duckdb", "starlette", "uvicorn"}
