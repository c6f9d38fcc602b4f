"""How much memory this process has used at most."""

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_rss_bytes() -> int:
    """Return the largest resident set of this process so far.

    Linux tells it in /proc/self/status as VmHWM; what getrusage(2) says there counts the parent's memory at the fork.
    """
    if _STATUS.exists():
        lines = _STATUS.read_text("ascii", "replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
