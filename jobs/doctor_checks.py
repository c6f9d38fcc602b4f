"""All checks of ``weighmaster doctor`` on one configuration."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from jobs import doctor_machine as machine
from jobs import doctor_service as service
from jobs.alive import alerts_spool, judge_spool, traffic_spool
from jobs.doctor import Check
from jobs.health import health
from jobs.listening import listens
from jobs.secret_files import WithSecretFiles
from jobs.settings import load_known, load_where
from jobs.version import version
from monitor.errors import ConfigError
from monitor.ports import Clock
from storage.migrations import MIGRATIONS


def checks(path: Path, environ: Mapping[str, str], clock: Clock, store_url: str | None) -> Sequence[Check]:
    """The checks, those first that others build on. Mistakes in the configuration are what the first of them finds.

    Raises
    ------
    UsageError, ConfigError
        When nothing of the configuration can be read: that is then what is wrong.
    """
    known, mistakes = WithSecretFiles(environ, path.parent), None
    try:
        config = load_known(path, known, detectors=False)
    except ConfigError as error:
        config, mistakes = load_where(path, known, error), error
    root, spool = Path(machine.__file__).resolve().parents[1], Path(config.agent.spool)
    names = [] if store_url is None else ["agent", "judge"]  # the others may be on another machine
    return (
        partial(service.configuration, path, mistakes),
        machine.python,
        partial(machine.packages, tested=machine.constraints(root / "constraints.txt")),
        partial(machine.names, root),
        partial(machine.disk, (spool.parent, Path(config.store.path).parent)),
        partial(machine.ports, listens(config), lambda name: bool(health(config, [name], clock)[0]["alive"])),
        partial(service.keys, config, known.exposed),
        partial(service.golden, config),
        partial(service.store, config, store_url or config.store.url, clock, version(), len(MIGRATIONS)),
        partial(service.agents, config, store_url or config.store.url, clock),
        partial(service.spools, (spool, judge_spool(spool), alerts_spool(spool), traffic_spool(spool))),
        lambda: service.processes(health(config, names, clock)),
    )
