"""Dialects as data: one file per provider or engine, constant ``DIALECT``.

Adding one is a new file with a `monitor.wire.wording.Dialect`; then ``python -m monitor.wire.dialects.table`` prints
the table of docs/protocols.md, which a test compares with the data.
"""

from functools import cache

import monitor.wire.dialects as here
from monitor.catalogue import scan
from monitor.wire.wording import Dialect


@cache
def dialects() -> dict[str, Dialect]:
    """Return the dialects by kind."""
    return scan(here, "DIALECT")
