"""The lab: four endpoints on loopback whose faults are known. Three are real (llama.cpp), one plays recorded faults."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from jobs.golden import MODEL, Report, ensure_gguf
from jobs.replay import ReplayServer, scripts_from
from monitor.errors import WeighmasterError
from monitor.types import Endpoint

_HERE = Path(__file__).parent / "lab_faults"
CONTEXT = 4096
"""Tokens of context that each real endpoint gives one request."""

_READY_S = 60.0
_STOP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """A real endpoint of the lab: which weights it serves, and what its server is told besides."""

    name: str
    kind: str
    options: tuple[str, ...] = ()


_SLOTS = 2
_SIZE = ("--alias", MODEL, "--parallel", str(_SLOTS), "--ctx", str(_SLOTS * CONTEXT))
_SERVED = (
    _Served(name="faithful", kind="F16"),
    _Served(name="degraded", kind="Q4_0"),
    _Served(name="misconfigured", kind="F16", options=("--template", str(_HERE / "no_default_system.jinja"))),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Running lab endpoints. All of them declare F16 and the reference ``smollm2``; only one keeps its word."""

    endpoints: tuple[Endpoint, ...]

    @classmethod
    @asynccontextmanager
    async def start(cls, home: Path, report: Report) -> AsyncIterator[Self]:
        """Start the endpoints; stop all of them on leaving, however that happens.

        Model files missing under `home` are made first. Servers log to ``home/logs/lab-NAME.log``.

        Raises
        ------
        GoldenError
            When the model files cannot be had.
        WeighmasterError
            When a server does not start; names its log.
        """
        files = {served.kind: await asyncio.to_thread(ensure_gguf, home, served.kind, report) for served in _SERVED}
        async with AsyncExitStack() as stack:
            servers = [
                await stack.enter_async_context(
                    serve(files[served.kind], _log(home, served.name), *_SIZE, *served.options)
                )
                for served in _SERVED
            ]
            faulty = await stack.enter_async_context(ReplayServer(scripts_from(_HERE / "answers")))
            urls = {served.name: await server.url() for served, server in zip(_SERVED, servers, strict=True)}
            urls["faulty"] = faulty.url
            report(f"lab: {len(urls)} endpoints on loopback")
            yield cls(endpoints=tuple(_endpoint(name, url) for name, url in urls.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A started llama.cpp server."""

    process: asyncio.subprocess.Process
    log: Path

    async def url(self) -> str:
        """Return the base address, ``http://127.0.0.1:PORT/v1``, once the server answers there.

        Raises
        ------
        WeighmasterError
            When it ends or stays silent for a minute instead; names its log.
        """
        assert self.process.stdout is not None  # noqa: S101  # it was started with a pipe
        line = b""
        with suppress(TimeoutError):
            line = await asyncio.wait_for(self.process.stdout.readline(), _READY_S)
        if not line:
            raise WeighmasterError(f"a lab server did not start; its last words are in {self.log}")
        return str(json.loads(line)["url"])


@asynccontextmanager
async def serve(gguf: Path, log: Path, *options: str) -> AsyncIterator[Server]:
    """Start a llama.cpp server for `gguf` and stop it on leaving.

    Parameters
    ----------
    gguf : Path
        The model file.
    log : Path
        Where stderr of llama.cpp goes; overwritten.
    *options : str
        More options of `jobs.lab_server`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "jobs.lab_server", str(gguf), *options,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=stderr,
        )  # fmt: skip
    try:
        yield Server(process=process, log=log)
    finally:
        await _stop(process)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End `process` by its id: kindly, then not."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _STOP_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _log(home: Path, name: str) -> Path:
    return home / "logs" / f"lab-{name}.log"


def _endpoint(name: str, url: str) -> Endpoint:
    return Endpoint(
        name=f"lab/{name}",
        provider="lab",
        base_url=url,
        model=MODEL,
        reference="smollm2",
        precision="f16",
        context=CONTEXT,
    )
