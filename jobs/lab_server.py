"""One real endpoint: llama.cpp's own HTTP server on loopback, from the xllamacpp wheel.

``python -m jobs.lab_server MODEL.gguf`` prints one JSON line with its ``url`` when it is ready, and runs until SIGTERM,
SIGINT, ``--max-seconds``, or the end of the process that started it. llama.cpp's log goes to stderr.
"""

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path

import xllamacpp

from monitor.errors import UsageError

_SAMPLER = {
    "temp": "temp", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "repeat_penalty": "penalty_repeat",
}  # fmt: skip
"""Options of the sampler, and what llama.cpp calls them; they hold for requests that do not say."""
_PLAIN = {"top_k": 0, "min_p": 0.0}
"""llama.cpp would cut to 40 tokens and at 5% of the likeliest, unasked: not what the model was made to say."""


def parameters(options: argparse.Namespace) -> xllamacpp.CommonParams:
    """Return llama.cpp's parameters for the options of the command line.

    Raises
    ------
    UsageError
        When a file does not exist or the cache type is unknown.
    """
    for path in filter(None, (options.model, options.template)):
        if not path.is_file():
            raise UsageError(f"{path}: not found")
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(options.model)
    wanted.model_alias = {options.alias}
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = 0
    wanted.n_ctx = options.ctx
    wanted.n_parallel = options.parallel
    wanted.verbosity = 1
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = options.threads
    wanted.endpoint_props = True
    wanted.ui = False
    if options.template:
        wanted.chat_template = options.template.read_text("utf-8")
    if options.cache_type:
        wanted.cache_type_k = wanted.cache_type_v = _ggml_type(options.cache_type)
    if options.rope_freq_base is not None:
        wanted.rope_freq_base = options.rope_freq_base
    for name, field in _SAMPLER.items():
        if (value := getattr(options, name)) is not None:
            setattr(wanted.sampling, field, value)
    return wanted


def _ggml_type(name: str) -> object:
    found = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{name.upper()}", None)
    if found is None:
        raise UsageError(f"--cache-type {name}: llama.cpp has no such type; f16, q8_0 and q4_0 are some")
    return found


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    options = argparse.ArgumentParser(prog="jobs.lab_server", description="serve a GGUF file on loopback")
    options.add_argument("model", type=Path)
    # With more threads than idle cores, llama.cpp's barriers cost up to 20 times (measured on two shared cores).
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--parallel", type=int, default=2, help="requests served at a time")
    options.add_argument("--ctx", type=int, default=8192, help="tokens of context, shared by all slots")
    options.add_argument("--template", type=Path, help="chat template in place of the model's")
    options.add_argument("--alias", default="SmolLM2-135M-Instruct", help="model name in answers")
    options.add_argument("--cache-type", help="type of the KV cache, e.g. q4_0")
    options.add_argument("--rope-freq-base", type=float)
    for name, field in _SAMPLER.items():
        kind = int if name == "top_k" else float
        options.add_argument(
            f"--{name.replace('_', '-')}", type=kind, default=_PLAIN.get(name), help=f"default of requests ({field})"
        )
    options.add_argument("--max-seconds", type=float, help="stop by itself after this time")
    return options


def main() -> None:
    """Serve until told to stop."""
    parent = os.getppid()  # now: whoever hears the address may be gone the next moment
    options = parser().parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as announce:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what llama.cpp prints must not mix with the announcement
        try:
            server = xllamacpp.Server(parameters(options))
        except (UsageError, RuntimeError) as error:
            raise SystemExit(f"cannot serve {options.model}: {error}") from error
        print(json.dumps({"url": f"{server.listening_address}/v1"}), file=announce, flush=True)
        _wait(stop, parent, options.max_seconds)


def _wait(stop: threading.Event, parent: int, max_seconds: float | None) -> None:
    """Wait for `stop`, the time limit, or the death of `parent`, which would leave this process to nobody."""
    left = max_seconds if max_seconds is not None else float("inf")
    while left > 0 and os.getppid() == parent and not stop.wait(min(left, 1.0)):
        left -= 1.0


if __name__ == "__main__":
    main()
