"""Builds and starts the native streaming server, on a core of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from monitor.errors import UsageError

SOURCE = Path(__file__).parent / "native" / "stream_server.c"
PEM = Path(__file__).parents[1] / "tests" / "golden" / "tls" / "loopback.pem"
"""Certificate and key for 127.0.0.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What the server streams to everyone: the first event after ``ttft_us``, then one every ``gap_us``.

    ``step_us`` above 0 lets all streams send in step, at multiples of it, as an engine that batches does. ``log`` is
    where the server notes when each request was complete and when its first and last event went out (ns).
    """

    ttft_us: int = 200_000
    gap_us: int = 10_000
    tokens: int = 100
    step_us: int = 0
    tls: bool = False
    log: Path | None = None


def cores() -> tuple[int, int]:
    """The core of the server and that of the client; the same where there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[-1]


def take_core(core: int, *, real_time: bool = False) -> None:
    """Run on `core` only and, where that is allowed, ahead of everything else that wants it."""
    os.sched_setaffinity(0, {core})
    if real_time:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    with suppress(OSError):
        os.setsid()
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("-20")
    with suppress(OSError):
        os.nice(-20)


@contextmanager
def awake(*kept: int) -> Iterator[None]:
    """Keep cores from falling asleep: something runs there whenever nobody else wants to (SCHED_IDLE).

    Where a virtual machine is put to sleep between two events, waking it takes longer and costs more than what is
    measured.
    """

    def become_idle(core: int) -> None:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    spinners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=partial(become_idle, core))  # noqa: PLW1509  # no threads
        for core in set(kept)
    ]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def _become_server() -> None:
    take_core(cores()[0], real_time=True)


@contextmanager
def built() -> Iterator[Path]:
    """The server's binary, compiled into a folder that is removed afterwards.

    Raises
    ------
    UsageError
        When there is no C compiler or no OpenSSL to compile against.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise UsageError("the wire benchmark needs a C compiler: install gcc")
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "stream_server"
        done = subprocess.run(
            [compiler, "-O2", "-o", str(binary), str(SOURCE), "-lssl", "-lcrypto"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise UsageError(f"the wire benchmark needs the headers of OpenSSL (libssl-dev): {done.stderr[:300]}")
        yield binary


@contextmanager
def serving(binary: Path, stream: Stream) -> Iterator[int]:
    """A running server; yields its port."""
    numbers = (stream.ttft_us, stream.gap_us, stream.tokens, stream.step_us)
    certificate = str(PEM) if stream.tls else "-"
    command = [str(binary), *map(str, numbers), certificate, *([str(stream.log)] if stream.log else [])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=_become_server  # noqa: PLW1509  # no threads
    ) as process:  # fmt: skip
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("pipes were asked for")
        yield int(process.stdout.readline())
        process.stdin.close()
