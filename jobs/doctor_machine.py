"""Checks of the machine and the installation: Python, packages, names of packages, ports, disk."""

import importlib.util
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from importlib.metadata import version as installed
from pathlib import Path

from packaging.requirements import Requirement

from jobs.doctor import Finding
from jobs.listening import why
from monitor.config_fields import Address

DISTRIBUTION = "weighmaster"
OURS = ("monitor", "probes", "reference", "storage", "dashboard", "jobs")
OLDEST_PYTHON = (3, 11)
LEAST_BYTES, FEW_BYTES = 500 * 10**6, 5 * 10**9
"""Free space below which the check fails, and below which it warns."""


def python(running: tuple[int, ...] = tuple(sys.version_info[:3])) -> Iterator[Finding]:
    """The interpreter."""
    seen, good = ".".join(map(str, running)), running[:2] >= OLDEST_PYTHON
    remedy = None if good else "install Python 3.11 or newer and make the virtual environment again"
    yield Finding(check="python", subject="version", status="ok" if good else "failed", seen=seen, remedy=remedy)


def packages(
    required: Sequence[str] | None = None, version_of: Callable[[str], str] = installed,
    tested: Mapping[str, str] | None = None,
) -> Iterator[Finding]:  # fmt: skip
    """What the distribution requires, extras left out, against what is installed.

    Parameters
    ----------
    required
        Requirements as the distribution's metadata has them; None reads those.
    version_of
        The version of an installed distribution; raises PackageNotFoundError.
    tested
        Versions that the tests ran on (constraints.txt), where that file is at hand.
    """
    wrong = []
    for one in map(Requirement, requires(DISTRIBUTION) or () if required is None else required):
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            wrong += list(_package(one, version_of, tested or {}))
    yield from wrong or [Finding(check="packages", subject="all", status="ok", seen="fit what is required")]


def _package(one: Requirement, version_of: Callable[[str], str], tested: Mapping[str, str]) -> Iterator[Finding]:
    remedy = f"pip install '{one.name}{one.specifier}'"
    try:
        seen = version_of(one.name)
    except PackageNotFoundError:
        yield Finding(check="packages", subject=one.name, status="failed", seen="not installed", remedy=remedy)
        return
    if not one.specifier.contains(seen, prereleases=True):
        wanted = f"{seen}; required is {one.specifier}"
        yield Finding(check="packages", subject=one.name, status="failed", seen=wanted, remedy=remedy)
    elif tested.get(one.name.lower(), seen) != seen:
        known = tested[one.name.lower()]
        yield Finding(
            check="packages", subject=one.name, status="warning", seen=f"{seen}; tested is {known}",
            remedy=f"pip install {one.name}=={known}, or ignore it while all works",
        )  # fmt: skip


def constraints(file: Path) -> dict[str, str]:
    """Versions by name in a constraints file; none when there is no such file, as in an installed wheel."""
    if not file.is_file():
        return {}
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    pairs = (line.partition("==") for line in lines if "==" in line)
    return {name.strip().lower(): known.partition(";")[0].strip() for name, _, known in pairs}


def names(
    root: Path, owners: Mapping[str, Sequence[str]] | None = None, origin: Callable[[str], Path | None] | None = None
) -> Iterator[Finding]:
    """Whether the names of our packages lead to our files: other distributions and folders may have the same."""
    found = packages_distributions() if owners is None else owners
    where, clashes = origin or _origin, []
    for name in OURS:
        others = sorted(set(found.get(name, ())) - {DISTRIBUTION})
        place = where(name)
        if others:
            seen = f"{', '.join(others)} installs a package of this name too"
            remedy = f"use a virtual environment of its own, or pip uninstall {others[0]}"
            clashes.append(Finding(check="names", subject=name, status="failed", seen=seen, remedy=remedy))
        elif place is None or not place.is_relative_to(root):
            seen = f"is {place}" if place else "is not found"
            remedy = "start in another folder, or rename what stands in the way"
            clashes.append(Finding(check="names", subject=name, status="failed", seen=seen, remedy=remedy))
    yield from clashes or [Finding(check="names", subject="packages", status="ok", seen="all lead to our files")]


def _origin(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).resolve() if spec and spec.origin else None


def ports(addresses: Mapping[str, Address], working: Callable[[str], bool]) -> Iterator[Finding]:
    """Whether each process can listen, or does. `working` says whether the process of this name answers."""
    for name, address in addresses.items():
        trouble = None if address.port == 0 else _taken(address)
        if trouble is None:
            yield Finding(check="ports", subject=name, status="ok", seen=f"{address} is free")
        elif working(name):
            yield Finding(check="ports", subject=name, status="ok", seen=f"{address} answers as our {name}")
        else:
            seen = f"{address}: {trouble}, and what has it does not answer as our {name}"
            remedy = f"if it is our {name}, it hangs: start it again; else end it, or change {name}.listen"
            yield Finding(check="ports", subject=name, status="failed", seen=seen, remedy=remedy)


def _taken(address: Address) -> str | None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server((address.host, address.port), family=family).close()
    except OSError as error:
        return why(error)
    return None


def disk(folders: Iterable[Path], free: Callable[[Path], int] | None = None) -> Iterator[Finding]:
    """Whether something can be written where spool and database lie, or will lie, and how much."""
    usable: list[Path] = []
    for folder in dict.fromkeys(folders):
        trouble = hindrance(folder)
        if trouble is None:
            usable.append(folder)
        else:
            yield Finding(
                check="disk", subject=str(folder), status="failed", seen=trouble,
                remedy="put a folder that the service may write to into agent.spool or store.path (or run this as its "
                "user)",
            )  # fmt: skip
    for folder in dict.fromkeys(map(_existing, usable)):
        n_bytes = free(folder) if free else shutil.disk_usage(folder).free
        status: Finding = Finding(
            check="disk", subject=str(folder), seen=f"{n_bytes / 1e9:.1f} GB free",
            status="failed" if n_bytes < LEAST_BYTES else "warning" if n_bytes < FEW_BYTES else "ok",
            remedy="make room, or shorten store.retention" if n_bytes < FEW_BYTES else None,
        )  # fmt: skip
        yield status


def hindrance(folder: Path) -> str | None:
    """Why `folder` cannot be made or written to, None when it can: tries a nameless file in what there is of it."""
    whole = folder.absolute()
    nearest = next(one for one in (whole, *whole.parents) if os.path.exists(one))  # noqa: PTH110  # False, never raises
    if not nearest.is_dir():
        return f"{nearest} is no folder"
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return None
    except OSError as error:
        return f"{nearest} cannot be written to ({error.strerror or error})"


def _existing(folder: Path) -> Path:
    whole = folder.absolute()
    return next(one for one in (whole, *whole.parents) if one.is_dir())
