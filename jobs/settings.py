"""Joins what this installation offers with the configuration file that the user wrote."""

import logging
from collections.abc import Mapping
from pathlib import Path

import yaml

from jobs.secret_files import WithSecretFiles
from monitor.catalogue import scan
from monitor.config import Catalogues, Config, load
from monitor.errors import ConfigError, UsageError

log = logging.getLogger(__name__)

_WHERE = ("vantage", "store", "agent", "judge", "dashboard")
"""Sections that say where the processes of a service are."""


def catalogues(*, detectors: bool = True) -> Catalogues:
    """Return the probes, detectors, protocols and dialects that exist.

    Parameters
    ----------
    detectors
        False leaves the detectors out, and with them scipy: for the agent.
    """
    import probes  # noqa: PLC0415  # --help stays light
    from monitor.wire.dialects import dialects  # noqa: PLC0415
    from monitor.wire.dispatch import protocols  # noqa: PLC0415

    return Catalogues(
        probes=scan(probes, "PROBE"),
        detectors=_detectors() if detectors else None,
        protocols=tuple(protocols()),
        dialects=dialects(),
    )


def _detectors() -> dict[str, type]:
    import monitor.detectors  # noqa: PLC0415  # imports scipy

    return scan(monitor.detectors, "DETECTOR")


def load_config(path: Path, environ: Mapping[str, str], *, detectors: bool = True) -> Config:
    """Return the configuration in the file at `path`.

    Raises
    ------
    UsageError
        When the file cannot be read.
    ConfigError
        With all mistakes in it.
    """
    known = WithSecretFiles(environ, path.parent)
    config = load_known(path, known, detectors=detectors)
    for file in known.exposed:
        log.warning("%s holds a secret and every user of this machine can read it: chmod o-r %s", file, file)
    return config


def load_service(path: Path, environ: Mapping[str, str]) -> Config:
    """The same for commands that look after a running service: of a file with mistakes, the parts that say where it is.

    The service goes on with its old configuration, and people must be able to look at it and to silence its alerts.

    Raises
    ------
    UsageError
        When the file cannot be read.
    ConfigError
        When the mistakes are in those parts.
    """
    try:
        return load_config(path, environ, detectors=False)
    except ConfigError as error:
        config = load_where(path, WithSecretFiles(environ, path.parent), error)
        log.warning("%s\n(only %s are read of it)", error, ", ".join(_WHERE))
        return config


def load_where(path: Path, known: Mapping[str, str], error: ConfigError) -> Config:
    """Of a file with the mistakes `error`, the parts that say where a service is. Raises ConfigError as above."""
    return load(_where(path, error), known, catalogues(detectors=False), source=str(path))


def _where(path: Path, error: ConfigError) -> str:
    try:
        document = yaml.safe_load(read_text(path))
    except yaml.YAMLError:
        raise error from None
    if not isinstance(document, dict):
        raise error from None
    kept = {name: document[name] for name in _WHERE if name in document}
    # A configuration has endpoints; nobody who asks for this looks at them.
    return yaml.safe_dump({**kept, "endpoints": [{"name": "not/read", "base_url": "http://127.0.0.1:1", "model": "-"}]})


def load_known(path: Path, known: WithSecretFiles, *, detectors: bool) -> Config:
    """The same, without a word on secret files: they are in `known` afterwards."""
    return load(read_text(path), known, catalogues(detectors=detectors), source=str(path))


def read_text(path: Path, *, remedy: str = "`weighmaster init URL` writes one for an endpoint") -> str:
    """Return the text of the file at `path`; `remedy` is said when there is none.

    Raises
    ------
    UsageError
        When there is no such file, or it is not UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; {remedy}") from None
    except UnicodeDecodeError as error:
        if b"\0" in error.object:
            raise UsageError(f"{path}: is a binary file, not text") from None
        raise UsageError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
