"""Sockets that note when the kernel received what they read (Linux, SO_TIMESTAMPNS)."""

import socket
import struct
import time
from bisect import bisect_right

SO_TIMESTAMPNS = 35
_ANCILLARY_BYTES = 64
_NS = 1_000_000_000


class KernelStamps:
    """Collects, for every read of its sockets, when it was made and when the kernel had received the data.

    Both in ns; the kernel's on the wall clock, which `offset_ns` turns into the monotonic one.
    """

    def __init__(self) -> None:
        self.read_ns: list[int] = []
        self.kernel_ns: list[int] = []
        self._offset_ns = offset_ns()

    def make_socket(self, family: int) -> socket.socket:
        """A TCP socket that reports to this object."""
        sock = _StampedSocket(family, socket.SOCK_STREAM)
        sock.stamps = self
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        return sock

    def before(self, at_ns: int) -> tuple[int, int]:
        """When the kernel had received what the product stamped `at_ns`, and when the read returned (monotonic)."""
        index = bisect_right(self.read_ns, at_ns) - 1
        return self.kernel_ns[index] + self._offset_ns, self.read_ns[index]


class _StampedSocket(socket.socket):
    """asyncio reads through `recv_into`; here that is a `recvmsg`."""

    stamps: KernelStamps

    def recv_into(self, buffer: memoryview, *_: int) -> int:  # type: ignore[override]
        """Read and note the kernel's stamp."""
        n_bytes, ancillary, _flags, _address = self.recvmsg_into([buffer], _ANCILLARY_BYTES)
        if ancillary:
            seconds, ns = struct.unpack("ll", ancillary[0][2][:16])
            self.stamps.read_ns.append(time.perf_counter_ns())
            self.stamps.kernel_ns.append(seconds * _NS + ns)
        return n_bytes


def offset_ns() -> int:
    """Monotonic minus wall clock, from the tightest of many pairs."""
    pairs = []
    for _ in range(200):
        before = time.perf_counter_ns()
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.perf_counter_ns()
        pairs.append((after - before, (before + after) // 2 - wall))
    return min(pairs)[1]
