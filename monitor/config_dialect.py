"""Whether an endpoint's dialect, protocol and upstream fit together."""

from collections.abc import Mapping

from monitor.config_check import Checker
from monitor.config_source import Path
from monitor.config_types import EndpointEntry
from monitor.wire.wording import Dialect


def check_dialect(checker: Checker, path: Path, entry: EndpointEntry, dialects: Mapping[str, Dialect]) -> None:
    """Report a dialect that does not speak the protocol, and an upstream that is missing or cannot be pinned."""
    dialect = None if entry.dialect is None else dialects[entry.dialect]
    if dialect is not None and entry.protocol not in dialect.wordings:
        spoken = ", ".join(sorted(dialect.wordings))
        checker.add((*path, "dialect"), f"does not speak the protocol {entry.protocol}", f"it speaks {spoken}")
    routes = dialect is not None and dialect.pin is not None
    if routes and entry.upstream is None:
        checker.add((*path, "upstream"), "is missing", f"which provider {entry.dialect} must use; others are not tried")
    if entry.upstream is not None and not routes:
        routers = ", ".join(sorted(name for name, known in dialects.items() if known.pin is not None))
        checker.add((*path, "upstream"), "needs a dialect that holds a router to it", f"known: {routers}")
