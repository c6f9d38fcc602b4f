"""Where benchmarks write their figures: tables on stdout, with the machine and its load in front."""

import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO


class Report:
    """Prints tables that can be pasted into docs/benchmarks.md as they are."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def head(self, name: str) -> None:
        """Say what follows, on which machine, when, and how busy it is."""
        self._line(f"\n## {name}\n")
        system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
        when = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {load()}"
        self._line(f"{cpu_model()}, {os.cpu_count()} CPUs, {system}; {when}.")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print one table."""
        self._line(f"\n{title}\n")
        self._line("| " + " | ".join(columns) + " |")
        self._line("|" + "---|" * len(columns))
        for row in rows:
            self._line("| " + " | ".join(shown(cell) for cell in row) + " |")

    def note(self, text: str) -> None:
        """Print one paragraph."""
        self._line("\n" + text)

    def _line(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


def shown(cell: object) -> str:
    """A number with three significant digits, a dash for what was not measured."""
    if cell is None:
        return "–"
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.3g}" if abs(cell) < 1000 else f"{cell:.0f}"


def load() -> str:
    """Load average of the last minute."""
    return f"{os.getloadavg()[0]:.2f}"


def cpu_model() -> str:
    """The processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def stdout() -> Report:
    """The report on standard output."""
    return Report(sys.stdout)
