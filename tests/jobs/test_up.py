"""The supervisor with real processes: restart, order, and that nothing is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from jobs.parent import VARIABLE, environment
from jobs.up import Child, Supervisor

SPEAK = "import sys,time,os; print('hello', os.getpid(), flush=True); time.sleep(60)"


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def running(supervisor: Supervisor) -> threading.Thread:
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    return thread


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_restarts_what_dies_and_stops_all() -> None:
    lines: list[tuple[str, str]] = []
    speak = [sys.executable, "-c", SPEAK]
    children = [Child("store", speak, awaited=True), Child("agent", speak)]
    supervisor = Supervisor(children, lambda name, line: lines.append((name, line)))
    thread = running(supervisor)
    until(lambda: len(lines) == 2)
    assert [name for name, _ in lines] == ["store", "agent"]
    killed = int(lines[1][1].split()[1])
    os.kill(killed, signal.SIGKILL)
    until(lambda: len(lines) == 3)
    assert lines[2][0] == "agent"
    pids = [int(line.split()[1]) for _, line in lines]
    supervisor.stop.set()
    thread.join(20)
    assert not any(alive(pid) for pid in pids)


def test_an_awaited_child_that_never_speaks_does_not_hold_up_a_stop() -> None:
    silent = [sys.executable, "-c", "import time; time.sleep(60)"]
    supervisor = Supervisor([Child("store", silent, awaited=True)], print)
    thread = running(supervisor)
    time.sleep(0.2)
    supervisor.stop.set()
    thread.join(15)
    assert not thread.is_alive()


def test_only_the_agent_keeps_its_priority() -> None:
    say = "import os; print(os.nice(0), flush=True); import time; time.sleep(0.6); print(os.nice(0), flush=True)"
    lines: list[tuple[str, str]] = []
    supervisor = Supervisor(
        [Child("agent", [sys.executable, "-c", say], low=False), Child("judge", [sys.executable, "-c", say])],
        lambda name, line: lines.append((name, line)),
    )
    thread = running(supervisor)
    until(lambda: len(lines) >= 4)
    supervisor.stop.set()
    thread.join(20)
    before = os.nice(0)
    assert {line for name, line in lines if name == "agent"} == {str(before)}
    assert max(int(line) for name, line in lines if name == "judge") > before


def test_backoff_doubles_up_to_half_a_minute() -> None:
    child = Child("agent", [])
    child.started_s = time.monotonic()
    assert [child.backoff_s() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    child.started_s -= 61
    assert child.backoff_s() == 1


def test_children_end_when_their_supervisor_is_killed() -> None:
    child = (
        "import os,time,signal; from jobs.parent import end_with_supervisor; end_with_supervisor(os.environ);"
        "print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = (
        "import os,subprocess,sys,time; from jobs.parent import environment;"
        f"subprocess.Popen([sys.executable, '-c', {child!r}], env=environment(os.environ)); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
        until(lambda: not alive(pid))


def test_a_process_started_by_hand_has_no_supervisor() -> None:
    assert environment({"A": "b"}) == {"A": "b", VARIABLE: str(os.getpid())}
