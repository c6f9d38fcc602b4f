"""Runs the dashboard: ``python -m jobs.dashboard_process --store-url http://HOST:PORT [--host H] [--port P]``.

Prints one JSON line, ``{"url": ...}``, once the pages are served; all other output goes to stderr. The token for the
store, if it wants one, is taken from the environment (WEIGHMASTER_TOKEN): arguments are visible to other users.
"""

import argparse
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import httpx

from jobs.parent import environment
from monitor.errors import StoreError, UsageError

START_TIMEOUT_S = 60.0
"""Generous: the first start on a cold disk reads some hundred MB."""

STOP_TIMEOUT_S = 10.0


def command(*, store_url: str, host: str, port: int) -> list[str]:
    """Return the command line that serves the dashboard at `host`:`port`.

    Options are flags, not a config file: flags win over what the user's home folder says. Telemetry is off, nothing is
    watched, errors show no details, and on loopback other host names are refused (DNS rebinding).
    """
    options = {
        "server.address": host,
        "server.port": str(port),
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "server.runOnSave": "false",
        "server.maxUploadSize": "1",
        "browser.gatherUsageStats": "false",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": "false",
        "client.toolbarMode": "minimal",
        "runner.magicEnabled": "false",
        "logger.level": "warning",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    if _is_loopback(host):
        flags += [f"--server.allowedHosts={name}" for name in (host, "localhost")]
    program = [sys.executable, "-m", "jobs.watched", "streamlit", "run", str(_app())]
    return [*program, *flags, "--", "--store-url", store_url]


def _app() -> Path:
    """What Streamlit runs. Found without importing it: this process needs no Streamlit."""
    spec = find_spec("dashboard")
    if spec is None or spec.origin is None:
        raise UsageError("The package `dashboard` is not installed. Reinstall weighmaster.")
    return Path(spec.origin).with_name("served.py")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def free_port(host: str) -> int:
    """Return a port that nobody listens on at `host` now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def wait_healthy(url: str, process: subprocess.Popen[bytes], *, timeout_s: float = START_TIMEOUT_S) -> None:
    """Return once the dashboard at `url` is served.

    Raises
    ------
    StoreError
        When the process ends first, or is not healthy after `timeout_s`.
    """
    deadline_ns = time.perf_counter_ns() + int(timeout_s * 1e9)
    with httpx.Client(trust_env=False, timeout=2.0) as http:
        while time.perf_counter_ns() < deadline_ns:
            if process.poll() is not None:
                raise StoreError(f"The dashboard ended at its start (exit {process.returncode}): see the lines above.")
            if _answers(http, f"{url}/_stcore/health"):
                return
            time.sleep(0.1)
    raise StoreError(f"The dashboard did not become healthy at {url} within {timeout_s:g} s.")


def _answers(http: httpx.Client, url: str) -> bool:
    try:
        return http.get(url).is_success
    except httpx.HTTPError:
        return False


def serve(*, store_url: str, host: str = "127.0.0.1", port: int = 0) -> int:
    """Serve the dashboard until SIGTERM or Ctrl-C; return its exit code (0 when it was asked to stop).

    Prints ``{"url": ...}`` on stdout once healthy. Port 0 takes a free one. Call it from the main thread (signals).
    """
    port = port or free_port(host)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    arguments = command(store_url=store_url, host=host, port=port)
    # SIGTERM ends the program the way Ctrl-C does.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with subprocess.Popen(  # noqa: S603  our own command line
            arguments, stdout=sys.stderr, env=environment(os.environ)
        ) as process:
            return _until_stopped(process, url)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _until_stopped(process: subprocess.Popen[bytes], url: str) -> int:
    try:
        wait_healthy(url, process)
        sys.stdout.write(json.dumps({"url": url}) + "\n")
        sys.stdout.flush()
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m jobs.dashboard_process", description="Serves the dashboard.")
    parser.add_argument("--store-url", required=True, help="where the store answers, e.g. http://127.0.0.1:8400")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    known = parser.parse_args(arguments)
    try:
        return serve(store_url=known.store_url, host=known.host, port=known.port)
    except (StoreError, UsageError) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
