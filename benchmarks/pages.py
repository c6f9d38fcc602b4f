"""How long a warm rerun of every page of the dashboard takes on a long history, store and page in one process.

``PAGES_MILLIONS`` says how many million observations (20). The data end in the past, so the pages are told that it is
then. CPU time is of both: on a busy machine it says more than the time that passed.
"""

import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from statistics import median
from unittest.mock import patch

from streamlit.testing.v1 import AppTest

import dashboard
from benchmarks.report import Report, load
from benchmarks.store_rows import fill
from dashboard.screen import screens
from storage.store import DuckStore
from tests.dashboard.store import serving

NAME = "pages"
REPEATS, TARGET_S = 5, 1.0
APP = Path(dashboard.__file__).with_name("app.py")
_ONE = "p7/model-7"


@contextmanager
def _then(at: datetime) -> Iterator[None]:
    """Let every page believe that it is `at`."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return at.astimezone(tz)

    names = [name for name in sys.modules if name.startswith("dashboard.")]
    with ExitStack() as stack:
        for name in names:
            if getattr(sys.modules[name], "datetime", None) is datetime:
                stack.enter_context(patch.object(sys.modules[name], "datetime", Then))
        yield


def _asked(store: DuckStore) -> Mapping[str, Mapping[str, str]]:
    """What each page is asked about."""
    failing = "SELECT v.record->>'verdict_id' AS id FROM latest_verdicts v WHERE v.status = 'fail' LIMIT 1"
    bad = store.read(failing)[0]["id"]
    one = {"endpoint": _ONE}
    return {"compare": {"model": "golden"}, "verdict": {"id": bad}, "tools": one, "speed": one, "capabilities": one,
            "endpoint": {"name": _ONE}}  # fmt: skip


def _runs(name: str, asked: Mapping[str, str]) -> Iterator[tuple[float, float]]:
    """Seconds that passed and seconds of CPU of each run of a page, the first one cold."""
    page = AppTest.from_file(APP, default_timeout=120)
    page.query_params.update(asked)
    if name != "overview":
        page.switch_page(f"screens/{name}.py")
    for _ in range(1 + REPEATS):
        started, cpu = time.perf_counter(), time.process_time()
        page.run()
        yield time.perf_counter() - started, time.process_time() - cpu
        if page.exception:
            raise RuntimeError(f"{name}: {page.exception}")


def _row(name: str, asked: Mapping[str, str]) -> list[object]:
    (cold, _), *warm = _runs(name, asked)
    walls, cpus = ([one[place] for one in warm] for place in (0, 1))
    met = "met" if median(walls) < TARGET_S else "missed"
    return [name, cold, median(walls), max(walls), median(cpus), load(), f"{met} (< {TARGET_S:.0f})"]


def run(report: Report) -> None:
    """Measure every page."""
    logging.disable(logging.INFO)
    millions = float(os.environ.get("PAGES_MILLIONS", "20"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.duckdb"
        fill(path, int(millions * 1e6))
        store = DuckStore(path)
        last = store.read("SELECT max(r.started_at) AS at FROM latest_runs r")[0]["at"]
        names = [name for name, _ in screens()]
        asked = _asked(store)
        with (
            serving(store) as url,
            patch.object(sys, "argv", [str(APP), "--store-url", url]),
            _then(last + timedelta(seconds=30)),
        ):
            rows = [_row(name, asked.get(name, {})) for name in names]
        store.close()
    report.table(
        f"Seconds at {millions:g} million observations; warm: median and worst of {REPEATS} reruns.",
        ("page", "cold", "warm", "worst", "CPU of a warm one", "load", "verdict"), rows,
    )  # fmt: skip
