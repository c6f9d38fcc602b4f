"""Supervises the four processes of the service: starts them in order, restarts what dies, stops all together."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from jobs.dashboard_process import free_port
from jobs.listening import listens
from jobs.parent import environment
from monitor.config_fields import Address
from monitor.config_types import Config
from monitor.errors import UsageError

log = logging.getLogger(__name__)

NICE = 5
STOP_S = 20.0
READY_S = 20.0
STEADY_S = 60.0
MAX_BACKOFF_S = 30.0


@dataclass(slots=True)
class Child:
    """One supervised process.

    ``low`` ones give way to the agent, because the agent measures; the others start only after an ``awaited`` one has
    said its first line.
    """

    name: str
    arguments: Sequence[str]
    low: bool = True
    awaited: bool = False
    process: subprocess.Popen[str] | None = None
    started_s: float = 0.0
    failures: int = 0
    spoke: threading.Event = field(default_factory=threading.Event)
    restart_at_s: float = 0.0

    def start(self, on_line: Callable[[str, str], None]) -> None:
        """Start the process; its standard output goes to `on_line`, line by line."""
        self.started_s = time.monotonic()
        process = subprocess.Popen(  # noqa: S603  # our own command line
            self.arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment(os.environ)
        )
        if self.low:
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        self.process = process
        threading.Thread(target=self._listen, args=(process, on_line), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str], on_line: Callable[[str, str], None]) -> None:
        if process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                self.spoke.set()
                on_line(self.name, line.rstrip("\n"))

    def backoff_s(self) -> float:
        """How long to wait before the next start: doubling, forgotten after a steady minute."""
        steady = time.monotonic() - self.started_s > STEADY_S
        self.failures = 1 if steady else self.failures + 1
        return float(min(2.0 ** (self.failures - 1), MAX_BACKOFF_S))


class Supervisor:
    """Keeps children alive until it is told to stop."""

    def __init__(self, children: Sequence[Child], on_line: Callable[[str, str], None]) -> None:
        self._children, self._on_line = children, on_line
        self.stop = threading.Event()

    def run(self) -> None:
        """Start all children in order and watch them until `stop` is set; then end them in reverse order."""
        try:
            for child in self._children:
                child.start(self._on_line)
                if child.awaited:
                    self._await(child)
            while not self.stop.wait(0.2):
                for child in self._children:
                    self._watch(child)
        finally:
            self._end()

    def _await(self, child: Child) -> None:
        """Give the others a store to talk to: wait for its first line, but not for ever."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and not child.spoke.wait(0.05):
            if self.stop.is_set() or (child.process is not None and child.process.poll() is not None):
                return

    def _watch(self, child: Child) -> None:
        now = time.monotonic()
        if child.process is None:
            if now >= child.restart_at_s:
                child.start(self._on_line)
            return
        code = child.process.poll()
        if code is None:
            return
        wait_s = child.backoff_s()
        log.error("%s ended with status %d; starting it again in %.0f s", child.name, code, wait_s)
        child.process, child.restart_at_s = None, now + wait_s

    def _end(self) -> None:
        alive = [child.process for child in reversed(self._children) if child.process is not None]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + STOP_S
        for process in alive:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def children(config_path: Path, config: Config) -> tuple[Child, ...]:
    """The four processes of the service, each as its own command would run it.

    A port 0 in the file is replaced by a free one here, so that it stays the same when a process is started again.
    """
    store, pages = config.store.listen, config.dashboard.listen
    store_port, page_port = store.port or free_port(store.host), pages.port or free_port(pages.host)
    at = ["--store-url", config.store.url_at(replace(store, port=store_port))]
    parts = {
        "store": ["--port", str(store_port)],
        "agent": at,
        "judge": at,
        "dashboard": [*at, "--port", str(page_port)],
    }
    return tuple(
        Child(
            name, [sys.executable, "-m", "jobs.cli", name, "--config", str(config_path), *more],
            low=name != "agent", awaited=name == "store",
        )
        for name, more in parts.items()
    )


def run(config_path: Path, config: Config) -> int:
    """Run the service until SIGINT or SIGTERM. Addresses of store and dashboard go to standard output."""
    for process, address in listens(config).items():
        _check_free(address, f"{process}.listen")
    supervisor = Supervisor(children(config_path, config), _say)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        supervisor.stop.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    supervisor.run()
    return 0


def _check_free(address: Address, key: str) -> None:
    """Refuse to start beside another service, which would probe and pay everything twice."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server((address.host, address.port), family=family).close()
    except OSError as error:
        raise UsageError(f"{key} {address} cannot be used ({error.strerror}): is another service running?") from None


def _say(name: str, line: str) -> None:
    sys.stdout.write(f"{name}: {line}\n")
    sys.stdout.flush()
