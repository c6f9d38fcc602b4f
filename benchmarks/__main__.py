"""Runs the benchmarks that are named, or all of them."""

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType

import benchmarks
from benchmarks.report import stdout


def found() -> dict[str, ModuleType]:
    """The benchmarks by name."""
    names = [info.name for info in pkgutil.iter_modules(benchmarks.__path__) if not info.name.startswith("_")]
    modules = [importlib.import_module(f"benchmarks.{name}") for name in names]
    return {module.NAME: module for module in modules if hasattr(module, "NAME") and hasattr(module, "run")}


def meant(wanted: Sequence[str], known: Iterable[str]) -> list[str]:
    """Those of the names `known` that `wanted` means: a whole name means itself alone, else all that begin with it."""
    names = sorted(known)
    chosen = {name for one in wanted for name in names if name == one or (one not in names and name.startswith(one))}
    return [name for name in names if name in chosen or not wanted]


def main(wanted: list[str]) -> int:
    """Run the benchmarks that `wanted` means; all without any. Returns the exit code."""
    known = found()
    chosen = meant(wanted, known)
    if not chosen:
        sys.stderr.write(f"no benchmark is called {' or '.join(wanted)}: there are {', '.join(sorted(known))}\n")
        return 2
    report = stdout()
    for name in chosen:
        report.head(name)
        known[name].run(report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
