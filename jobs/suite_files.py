"""Suites of a customer, and suites in files."""

from pathlib import Path

from jobs.settings import read_text
from jobs.suite_store import Record, SuiteStore
from monitor.errors import ConfigError, Problem, UsageError
from monitor.suites.case import Suite
from monitor.suites.importers.catalogue import format_of
from monitor.suites.reading import read_suite, write_suite

REMEDY = "docs/suites.md shows how one is written, `weighmaster suite generate` makes one"


def from_file(path: Path) -> Suite:
    """Return the suite in a file of our own schema.

    Raises
    ------
    UsageError, ConfigError
        When it cannot be read, with all mistakes.
    """
    text = read_text(path, remedy=REMEDY).removeprefix("\ufeff")
    try:
        return read_suite(text, str(path), name=path.stem)
    except ConfigError as error:
        hint = _foreign(text, path)
        raise ConfigError((*error.problems, Problem(str(path), *hint)) if hint else error.problems, str(path)) from None
    except UsageError as error:
        hint = _foreign(text, path)
        raise UsageError(f"{error}; it {hint[0]}: {hint[1]}" if hint else str(error)) from None


def _foreign(text: str, path: Path) -> tuple[str, str] | None:
    """What to say of a file that another program wrote; None where it has our own words, or nobody's."""
    kind = None if "oracles" in text else format_of(text)
    if kind is None:
        return None
    return f"looks like {kind}, of another program", f"`weighmaster suite import {path} --out own.yaml` takes it over"


def keep(store: SuiteStore, suite: Suite) -> bool:
    """Keep `suite` under its name; return whether the store had another one of that name, or none."""
    newest = _newest(store, suite.name)
    if newest is not None and newest["sha256"] == suite.sha256:
        return False
    store.append([{"kind": "suite", "name": suite.name, "sha256": suite.sha256, "text": write_suite(suite)}])
    return True


def find(store: SuiteStore, name: str, *, keeping: bool = True) -> Suite:
    """Return the suite that `name` means: a file of that path, which is kept then, else one that was imported.

    Raises
    ------
    UsageError
        When there is none.
    """
    path = Path(name)
    if path.suffix.lower() in {".jsonl", ".yaml", ".yml"}:
        suite = from_file(path)
        if keeping:
            keep(store, suite)
        return suite
    newest = _newest(store, name)
    if newest is None:
        known = ", ".join(sorted({one["name"] for one in store.of("suite")})) or "none yet"
        raise UsageError(f"no suite is called {name}; this customer has {known}; give the path of a file instead")
    return read_suite(newest["text"], f"{name}.jsonl", name=name)


def of_hash(store: SuiteStore, sha256: str) -> Suite | None:
    """Return the suite of this hash, for a run of long ago."""
    found = next((one for one in store.of("suite") if one["sha256"] == sha256), None)
    return None if found is None else read_suite(found["text"], "kept.jsonl", name=found["name"])


def _newest(store: SuiteStore, name: str) -> Record | None:
    return next((one for one in reversed(store.of("suite")) if one["name"] == name), None)
