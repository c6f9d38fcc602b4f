"""Two other clients that measure endpoints, guidellm and aiperf: how they are run, and what their reports say."""

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.wire_server import cores, take_core

FOLDER = Path(os.environ.get("WEIGHMASTER_PEERS", "~/.cache/weighmaster/peers")).expanduser()
"""Where benchmarks/peers/install.sh puts them."""
TIMEOUT_S = 300


class Recorded(NamedTuple):
    """One request as a peer has it in its report. None where the report says nothing."""

    start_s: float
    ok: bool
    ttft_ms: float | None
    ttfo_ms: float | None
    tpot_ms: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a peer is told to do: `requests` requests, `streams` at a time, at `port`; it counts with `tokenizer`.

    In the tokenizer every word of the answers must be one token. ``real_time`` lets it run ahead of everything else.
    """

    port: int
    streams: int
    requests: int
    tokenizer: Path
    real_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A client: its command line for a load, and the reader of its report, both given the folder it works in.

    ``spins``: a process of it polls without a pause, and with real-time priority would let no other have the core.
    """

    name: str
    command: Callable[[Load, Path], list[str]]
    read: Callable[[Path], list[Recorded]]
    spins: bool = False

    @property
    def program(self) -> Path:
        """Its executable."""
        return FOLDER / self.name / "bin" / self.name


class Ran(NamedTuple):
    """What came of a run: the requests in the order of their starts, and the CPU seconds of all its processes."""

    requests: list[Recorded]
    cpu_s: float


def run_peer(peer: Peer, load: Load, folder: Path) -> Ran:
    """Run `peer` on the client's core, in `folder`; wait for it and all its processes.

    Raises
    ------
    RuntimeError
        When it fails or takes longer than `TIMEOUT_S`; the message has the end of what it printed.
    """
    folder.mkdir()
    ahead = load.real_time and not peer.spins
    before, log = _children_cpu_s(), folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(peer.program), *peer.command(load, folder)], cwd=folder, stdout=out, stderr=out,
            preexec_fn=partial(take_core, cores()[1], real_time=ahead),  # noqa: PLW1509  # no threads
        )  # fmt: skip
        try:
            code = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
    if code:
        raise RuntimeError(f"{peer.name} ended with {code}: {log.read_text(errors='replace')[-1500:]}")
    return Ran(sorted(peer.read(folder)), _children_cpu_s() - before)


def _children_cpu_s() -> float:
    """CPU of all ended and awaited children and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _guidellm_command(load: Load, folder: Path) -> list[str]:
    prompts = folder / "prompts.jsonl"
    # One for each request: it ends when they are used up.
    lines = (orjson.dumps({"prompt": f"{n}: say something."}) for n in range(load.requests))
    prompts.write_bytes(b"\n".join(lines))
    target = f"http://127.0.0.1:{load.port}"
    return [
        "run", "--backend", f"kind=openai_http,target={target},model=m,validate_backend=false",
        "--profile", f"kind=concurrent,streams={load.streams}", "--data", f"kind=json_file,path={prompts}",
        "--tokenizer", f"kind=huggingface_auto,model={load.tokenizer}",
        "--constraint", f"kind=max_requests,count={load.requests}",
        "--output", "kind=json,path=guidellm.json", "--disable-progress",
    ]  # fmt: skip


def _guidellm_read(folder: Path) -> list[Recorded]:
    """Its inter-token latency is taken for TPOT: what it calls TPOT has the wait for the first token in it."""
    (benchmark,) = orjson.loads((folder / "guidellm.json").read_bytes())["benchmarks"]
    found = benchmark["requests"]
    return [
        Recorded(
            one["request_start_time"], kind == "successful", one["time_to_first_token_ms"],
            one["time_to_first_output_token_ms"], one["inter_token_latency_ms"], one["output_tokens"],
        )
        for kind in ("successful", "errored", "incomplete")
        for one in found[kind] or ()
    ]  # fmt: skip


def _aiperf_command(load: Load, folder: Path) -> list[str]:
    del folder
    # One worker for one stream, because the scripted server takes one connection at a time.
    workers = ["--workers-max", "1"] if load.streams == 1 else []
    return [
        "profile", "-m", "m", "--url", f"http://127.0.0.1:{load.port}", "--endpoint-type", "chat", "--streaming",
        "--concurrency", str(load.streams), "--request-count", str(load.requests), "--tokenizer", str(load.tokenizer),
        "--isl", "50", "--osl", "100", "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics",
        "--artifact-dir", "aiperf", *workers,
    ]  # fmt: skip


def _aiperf_read(folder: Path) -> list[Recorded]:
    lines = (folder / "aiperf" / "profile_export.jsonl").read_bytes().splitlines()
    return [_aiperf_record(orjson.loads(line)) for line in lines]


def _aiperf_record(line: dict[str, Any]) -> Recorded:
    def of(name: str) -> float | None:
        metric = line["metrics"].get(name)
        return None if metric is None else metric["value"]

    return Recorded(
        line["metadata"]["request_start_ns"] / 1e9, line.get("error") is None, of("time_to_first_token"),
        of("time_to_first_output_token"), of("inter_token_latency"), of("output_sequence_length"),
    )  # fmt: skip


PEERS: Sequence[Peer] = (
    Peer(name="guidellm", command=_guidellm_command, read=_guidellm_read),
    Peer(name="aiperf", command=_aiperf_command, read=_aiperf_read, spins=True),
)
