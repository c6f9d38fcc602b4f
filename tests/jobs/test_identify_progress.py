"""What `identify` says while golden weights work. Oracle: lines written by hand, at times of a clock by hand."""

import threading

import pytest

from jobs.identify_progress import Progress


def test_every_line_says_how_long_golden_weights_work_already() -> None:
    now, lines = [0], list[str]()
    progress = Progress(lines.append, threading.Event(), clock_ns=lambda: now[0])
    now[0] = 7_000_000_000
    with progress.working():
        progress("golden weights read 8 answers")
        now[0] = 48_600_000_000
        progress("predicting Q4_0 (3 of 30 variants): 8 answers")
    assert lines == ["0 s: golden weights read 8 answers", "42 s: predicting Q4_0 (3 of 30 variants): 8 answers"]


def test_long_work_is_told_again_while_it_lasts() -> None:
    lines, again = list[str](), threading.Event()

    def tell(line: str) -> None:
        lines.append(line)
        if line.startswith("  0 s: predicting Q4_0: ") and line.endswith("s so far"):
            again.set()

    progress = Progress(tell, threading.Event(), every_s=0.001, clock_ns=lambda: 0)
    with progress.working():
        progress("predicting Q4_0")
        assert again.wait(30)
    assert "0 s: predicting Q4_0" in lines


def test_who_is_stopped_says_no_more() -> None:
    stopped, lines = threading.Event(), list[str]()
    progress = Progress(lines.append, stopped)
    stopped.set()
    with progress.working(), pytest.raises(KeyboardInterrupt):
        progress("predicting Q4_0")
    assert lines == []
