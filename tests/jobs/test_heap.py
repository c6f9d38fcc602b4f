"""Threads that share a heap. Oracle: glibc's own count of its heaps (``malloc_info``)."""

import subprocess
import sys

import pytest

from tests.storage.processes import ROOT

CODE = """
import ctypes, sys, threading
from jobs.heap import one_heap
if sys.argv[1] == "one":
    one_heap()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.malloc_info.argtypes = [ctypes.c_size_t], [ctypes.c_int, ctypes.c_void_p]
together = threading.Barrier(8)
def work():
    together.wait()
    libc.malloc(5000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fflush(ctypes.c_void_p(out))
"""


@pytest.mark.parametrize("how", ["one", "many"])
def test_heaps_of_eight_threads(how: str) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, how], capture_output=True, text=True, check=True, cwd=ROOT)
    assert (done.stdout.count("<heap nr=") == 1) == (how == "one"), done.stdout[:300]
