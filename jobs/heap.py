"""One heap for all threads of a process that runs for months.

glibc gives threads heaps of their own, and memory that one of them has freed is no use to another. The store's process
grew by that without an end (docs/benchmarks.md); with one heap it does not, and its ingest is no slower.
"""

import ctypes
from contextlib import suppress

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def one_heap() -> None:
    """Have threads that start from now on share the heap; does nothing where the C library is another."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
