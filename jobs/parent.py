"""Ends a supervised process when its supervisor is gone, so that a killed supervisor leaves nothing behind."""

import os
import signal
import threading
import time
from collections.abc import Mapping

VARIABLE = "WEIGHMASTER_SUPERVISOR"
POLL_S = 1.0


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Environment for children of this process."""
    return {**environ, VARIABLE: str(os.getpid())}


def end_with_supervisor(environ: Mapping[str, str]) -> None:
    """When a supervisor started this process, watch it, and end as by SIGTERM once it is gone.

    A process started by hand has no supervisor and outlives its shell.
    """
    supervisor = environ.get(VARIABLE, "")
    if supervisor.isdigit():
        threading.Thread(target=_watch, args=(int(supervisor),), daemon=True).start()


def _watch(supervisor: int) -> None:
    while os.getppid() == supervisor:
        time.sleep(POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)
