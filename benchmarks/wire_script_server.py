"""Plays scripts to one client at a time, to the microsecond: ``python -m benchmarks.wire_script_server FILE``.

FILE is a JSON list of scripts, each ``{"sends": [[at_ms, text], ...], "close": "keep"|"fin"|"rst"}``; requests get them
in turn. Prints the port, then after every answer one line of JSON with when the request had arrived and when each
send really happened (monotonic ns). Threads and an event loop would be later than this.
"""

import socket
import struct
import sys
import time
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import orjson

from benchmarks.wire_server import cores, take_core

_SPIN_NS = 1_500_000


def received(connection: socket.socket) -> int | None:
    """Read one request; return when it had arrived, None when the client has left."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    fields = [line.partition(b":") for line in head.lower().split(b"\r\n")]
    size = next((int(value) for name, _, value in fields if name == b"content-length"), 0)
    while len(body) < size:
        body += connection.recv(65536)
    return time.perf_counter_ns()


def play(connection: socket.socket, script: dict[str, Any], recv_ns: int) -> list[int]:
    """Send what the script says, when it says so; return when that was."""
    sent = []
    for at_ms, text in script["sends"]:
        due_ns = recv_ns + int(at_ms * 1e6)
        while (left_ns := due_ns - time.perf_counter_ns()) > 0:
            time.sleep(max(left_ns - _SPIN_NS, 0) / 1e9)
        sent.append(time.perf_counter_ns())
        connection.sendall(text.encode())
    return sent


def main(path: str) -> None:
    """Serve until the process is ended."""
    take_core(cores()[0], real_time=True)
    scripts = cycle(orjson.loads(Path(path).read_bytes()))
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, suppress(ConnectionError):
            while (recv_ns := received(connection)) is not None:
                script = next(scripts)
                sent = play(connection, script, recv_ns)
                print(orjson.dumps({"recv_ns": recv_ns, "sent_ns": sent}).decode(), flush=True)
                if script["close"] == "rst":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if script["close"] != "keep":
                    break


if __name__ == "__main__":
    main(sys.argv[1])
