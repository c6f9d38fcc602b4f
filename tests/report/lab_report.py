"""Renew ``docs/comparison.html`` from real endpoints: ``python -m tests.report.lab_report FOLDER``.

Five llama.cpp endpoints of the lab are watched by the whole service for some minutes: a faithful one, one with 4-bit
weights, one without the default system prompt, one that replays faults, and one that sends a third of its requests to
the 4-bit weights. Prices are made up. FOLDER keeps the store; ``--again`` makes the page from what it keeps. With
``--pages`` it fills the store for `tests.dashboard.lab_tour`, with the probes `tools` and `parameters` too.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from jobs.golden import default_home, ensure_golden
from jobs.lab import Lab
from jobs.listening import listening

ENDPOINTS = {
    "acme": ("faithful", 0.2, 0.6), "bargain": ("degraded", 0.12, 0.36), "corner": ("misconfigured", 0.15, 0.45),
    "dusk": ("faulty", 0.1, None), "elbow": ("mixed", 0.17, 0.5),
}  # fmt: skip
"""Provider -> what is behind it, and prices in USD per million prompt and output tokens; None is not declared."""
SHARE = 0.35
"""Of the requests of the mixed endpoint that go to the 4-bit weights."""
PROBES = (
    {"kind": "speed", "every": "90s"}, {"kind": "logprobs", "every": "3m"},
    {"kind": "identify", "every": "8m", "prompts": 16},
)  # fmt: skip
MORE = (
    {"kind": "tools", "every": "12m", "n": 12, "tokens": 64},
    {"kind": "parameters", "every": "15m", "series": 0, "tokens": 24, "thinking_tokens": 48},
)  # fmt: skip
"""What fills the pages that the report does not need; small, as the lab answers a few tokens a second."""


@asynccontextmanager
async def router(first: str, second: str, share: float) -> AsyncIterator[str]:
    """Serve what sends a `share` of the requests to `second` and the others to `first`; yield its base URL."""
    draw = random.Random(3)  # no secret

    async def relay(request: Request) -> StreamingResponse:
        base = second if draw.random() < share else first
        got = await client.send(
            client.build_request(
                request.method, base + request.url.path.removeprefix("/v1"), content=await request.body(),
                headers={"content-type": "application/json"},
            ),
            stream=True,
        )  # fmt: skip
        kind = got.headers.get("content-type", "application/json")
        return StreamingResponse(got.aiter_raw(), got.status_code, headers={"content-type": kind})

    routes = [Route("/{path:path}", relay, methods=["GET", "POST"])]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error", lifespan="off"))
    with listening("127.0.0.1", 0) as listener:
        async with httpx.AsyncClient(timeout=120, trust_env=False) as client:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            server.should_exit = True
            await serving


def config_text(
    urls: dict[str, str], golden: Path, data: Path, calibration: Path | None, probes: Sequence[Mapping[str, object]]
) -> str:
    """The configuration of a service that watches `urls`, by what is behind them."""
    reference = {"engine": "torch", "path": str(golden)} | ({"calibration": str(calibration)} if calibration else {})
    return yaml.safe_dump(
        {
            "vantage": "fra",
            "store": {"path": str(data / "w.duckdb"), "listen": "127.0.0.1:0"},
            "dashboard": {"listen": "127.0.0.1:0"},
            "agent": {"spool": str(data / "spool.sqlite"), "concurrency": 1},
            "references": {"smollm2": reference},
            "endpoints": [
                {
                    "name": f"{name}/smollm2", "base_url": urls[kind], "model": "SmolLM2-135M-Instruct",
                    "reference": "smollm2", "precision": "f16", "price_in_usd": price_in,
                    **({"price_out_usd": price_out} if price_out is not None else {}),
                }
                for name, (kind, price_in, price_out) in ENDPOINTS.items()
            ],
            "probes": [dict(one) for one in probes],
        },
        sort_keys=False,
    )  # fmt: skip


async def watch(
    data: Path, calibration: Path | None, seconds: float, probes: Sequence[Mapping[str, object]] = PROBES
) -> None:
    """Run the service with `probes` on the lab for `seconds`; its data stay in `data`."""
    home = default_home(os.environ)
    golden = await asyncio.to_thread(ensure_golden, home, print)
    async with Lab.start(home, print) as lab:
        urls = {one.name.split("/")[1]: one.base_url for one in lab.endpoints}
        async with router(urls["faithful"], urls["degraded"], SHARE) as mixed:
            path = data / "weighmaster.yaml"
            text = config_text({**urls, "mixed": mixed}, golden, data, calibration, probes)
            path.write_text(text, encoding="utf-8")
            with (data / "up.log").open("wb") as log:
                up = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "jobs.cli", "up", "--config", str(path), stdout=log, stderr=log,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                )  # fmt: skip
                try:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(up.wait(), seconds)
                finally:
                    with suppress(ProcessLookupError):
                        up.terminate()
                    await up.wait()


def page(data: Path) -> bytes:
    """The report of what `data` holds, over a snapshot of it; exit codes of a comparison that found faults are fine."""
    config, call = ["--config", str(data / "weighmaster.yaml")], [sys.executable, "-m", "jobs.cli"]
    made = subprocess.run([*call, "db", "snapshot", *config], capture_output=True, text=True, check=True)
    command = [*call, "compare", "--from", made.stdout.strip(), "--out", str(data / "report"), *config]
    (data / "report.txt").write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    return (data / "report" / "comparison.html").read_bytes()


def main() -> None:
    """Watch, compare, write the page."""
    options = argparse.ArgumentParser(prog="tests.report.lab_report", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--minutes", type=float, default=22)
    options.add_argument("--calibration", type=Path, help="calibration.json; without it the page has no ladder")
    options.add_argument("--again", action="store_true", help="only make the page again")
    options.add_argument("--pages", action="store_true", help="for tests.dashboard.lab_tour: more probes, no page")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if not given.again:
        probes = (*PROBES, *MORE) if given.pages else PROBES
        asyncio.run(watch(given.folder, given.calibration, 60 * given.minutes, probes))
    if not given.pages:
        Path("docs/comparison.html").write_bytes(page(given.folder))


if __name__ == "__main__":
    main()
