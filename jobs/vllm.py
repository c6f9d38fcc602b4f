"""A vLLM server on loopback, run by the Python of a venv of its own: vLLM pins more packages than the product has."""

import asyncio
import os
import signal
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

import httpx

from jobs.clock import SystemClock
from jobs.golden import MODEL
from monitor.errors import UsageError, WeighmasterError

# Under load an idle-machine minute becomes several.
_READY_S = 400.0
_POLL_S = 0.5
_STOP_S = 20.0
_CHECK_S = 60.0
_FINDS_VLLM = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
    # One thread that is bound to no core, and 1 GB of cache: it shares the machine with the golden engine.
    "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo",
}  # fmt: skip
_HANDED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "SSL_CERT_*", "XDG_*", "VLLM_*", "HF_*", "TRANSFORMERS_*", "TORCH*", "PYTORCH_*", "TRITON_*", "CUDA_*", "NVIDIA_*",
    "NCCL_*", "ROCR_*", "HIP_*", "ONEAPI_*", "ZE_*", "OMP_*", "MKL_*",
)  # fmt: skip
"""What of our environment vLLM needs: where things are, and its own settings."""

_SECRET = ("*KEY*", "*TOKEN*", "*SECRET*", "*PASSWORD*")
"""None of those: the weights are here, and a ``VLLM_API_KEY`` would shut us out."""

_OPTIONS = ("--enforce-eager", "--max-num-seqs", "16", "--max-logprobs", "64")


def check_vllm(python: Path) -> None:
    """Find out whether `python` has vLLM, without importing it.

    Raises
    ------
    UsageError
        When it has not, or is no Python.
    """
    try:
        done = subprocess.run([python, "-c", _FINDS_VLLM], timeout=_CHECK_S, check=False)  # noqa: S603  # as asked for
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{python}: cannot be run ({error}); name the Python of a venv with vLLM") from error
    if done.returncode != 0:
        raise UsageError(f"{python}: has no vLLM; install it there, or name the Python of a venv that has it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vllm:
    """A started vLLM server. It leads a process group of its own, which holds its engine and its workers."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    _ended: threading.Event = field(default_factory=threading.Event, init=False, repr=False, compare=False)

    @classmethod
    def start(
        cls, python: Path, folder: Path, log: Path, *, dtype: str, model: str = MODEL, context: int = 2048,
        options: Sequence[str] = (),
    ) -> Self:  # fmt: skip
        """Start vLLM on the weights in `folder`; returns at once.

        Parameters
        ----------
        python : Path
            Of the venv with vLLM.
        folder : Path
            A Hugging Face folder.
        log : Path
            Where everything that vLLM prints goes; overwritten.
        dtype : str
            ``float32``, ``bfloat16`` or ``float16``.
        model : str
            Its name in requests and answers.
        context : int
            Tokens of a prompt and its answer, at most.
        options : Sequence[str]
            Further options of its command line, such as the parser of tool calls.
        """
        port = _free_port()
        # The `vllm` command asks for the metadata of a package of that name, and dies where it is called vllm-cpu.
        command = (
            str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), "--served-model-name",
            model, "--host", "127.0.0.1", "--port", str(port), "--dtype", dtype, "--max-model-len", str(context),
            *_OPTIONS, *options,
        )  # fmt: skip
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  # as asked for
                command, env=_environment(os.environ), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        return cls(process=process, port=port, log=log)

    async def url(self) -> str:
        """Return the base address, ``http://127.0.0.1:PORT/v1``, once the server answers there.

        Raises
        ------
        WeighmasterError
            When it ends or stays silent for minutes instead; names its log.
        """
        clock = SystemClock()
        until = clock.monotonic_ns() + _READY_S * 1e9
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", trust_env=False) as http:
            while self.process.poll() is None and clock.monotonic_ns() < until:
                with suppress(httpx.HTTPError):
                    if (await http.get("/health")).is_success:
                        return f"http://127.0.0.1:{self.port}/v1"
                await asyncio.sleep(_POLL_S)
        raise WeighmasterError(f"vLLM did not start; its last words are in {self.log}")

    def stop(self) -> None:
        """End the server, and whatever of its group outlives it. Idempotent."""
        if self._ended.is_set():
            return  # its number may be another group's by now
        self.process.terminate()
        try:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_STOP_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self._ended.set()
            self.process.wait()


@asynccontextmanager
async def serve_vllm(
    python: Path, folder: Path, log: Path, *, dtype: str, model: str = MODEL, context: int = 2048,
    options: Sequence[str] = (),
) -> AsyncIterator[str]:  # fmt: skip
    """Start vLLM (see `Vllm.start`) and stop it on leaving; yields its base address once it answers."""
    server = Vllm.start(python, folder, log, dtype=dtype, model=model, context=context, options=options)
    try:
        yield await server.url()
    finally:
        await asyncio.to_thread(server.stop)


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """The environment of vLLM: ours holds the keys of all providers."""
    kept = {name: value for name, value in own.items() if _matches(name, _HANDED_ON) and not _matches(name, _SECRET)}
    return {**kept, **_ENVIRONMENT}


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _free_port() -> int:
    """Return a port that was free a moment ago: vLLM does not tell which one it got for port 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
