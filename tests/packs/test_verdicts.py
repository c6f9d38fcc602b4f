"""A pack in a process without torch judges as live weights do, on a real faithful and a real degraded endpoint."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.golden import ensure_gguf
from jobs.judging import golden_side, judge
from jobs.pack import make
from jobs.references import scorer_for
from monitor.codec import encode
from monitor.config_types import ReferenceConfig
from monitor.detectors.accounting import Accounting
from monitor.detectors.logprob_fidelity import LogprobFidelity
from monitor.results import RunRecord
from monitor.types import Endpoint
from probes.heartbeat import Heartbeat
from probes.logprobs import Logprobs
from probes.run import run_probe
from tests.lab.server import llama_server
from tests.packs.test_signature import KEY

pytestmark = [pytest.mark.lab, pytest.mark.golden]

# Judges runs with a pack where torch cannot be imported, as in an installation without the extra `reference`.
WITHOUT_TORCH = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "transformers", "safetensors", "gguf"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import json
from tests.packs.test_verdicts import verdicts
from jobs.references import scorer_for
from monitor.codec import decode
from monitor.config_types import ReferenceConfig
from monitor.results import RunRecord
scorer = scorer_for(ReferenceConfig(engine="pack", path=sys.argv[1], keys=(sys.argv[2],)))
print(json.dumps([verdicts(decode(RunRecord, open(path, "rb").read()), scorer) for path in sys.argv[3:]]))
assert "torch" not in sys.modules
"""


def endpoint(address: str) -> Endpoint:
    url = f"{address}/v1"
    return Endpoint(name="lab/one", provider="lab", base_url=url, model="SmolLM2-135M-Instruct", precision="f16")


@contextmanager
def served(home: Path, kind: str) -> Iterator[Endpoint]:
    with llama_server(ensure_gguf(home, kind, print)) as address:
        yield endpoint(address)


async def probed(target: Endpoint) -> RunRecord:
    clock = SystemClock()
    async with Heartbeat(clock).beating() as heartbeat:
        client = http_client(target, None, clock, heartbeat)
        record, _ = await run_probe(
            Logprobs(), target, client, clock=clock, seed=1, vantage="test", prober_version="0", concurrency=1
        )
        await client.aclose()
    return record


def verdicts(record: RunRecord, scorer: Any) -> list[list[Any]]:
    """Status, cause, effect and n of both detectors."""
    target = endpoint("http://127.0.0.1:1")
    detectors = (Accounting(), LogprobFidelity())
    golden = golden_side([record], scorer, detectors)
    found = judge(target, [record], golden, detectors, at=datetime(2026, 11, 29, tzinfo=UTC))
    return [[one.detector, one.status, one.cause, one.effect, one.n] for one in found]


async def test_a_pack_judges_as_live_weights_do(golden_home: Path, golden_folder: Path, tmp_path: Path) -> None:
    made = make(
        lambda: golden_folder, tmp_path / "golden.pack", device="cpu", dtype="float32", template={}, top_k=512,
        n_samples=0, sample_tokens=1, variants=(), report=print, key=KEY,
    )  # fmt: skip
    assert made["positions"] > 200
    paths = []
    for kind in ("F16", "Q4_0"):
        with served(golden_home, kind) as target:
            record = await probed(target)
        paths.append(tmp_path / f"{kind}.json")
        paths[-1].write_bytes(encode(record))
        live = verdicts(record, scorer_for(ReferenceConfig(path=str(golden_folder), device="cpu")))
        (tmp_path / f"{kind}.live").write_text(json.dumps(live), "utf-8")
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "golden.pack"), made["signer"], *map(str, paths)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    packed = json.loads(done.stdout.splitlines()[-1])
    for path, (accounts, fidelity), status in zip(paths, packed, ("pass", "fail"), strict=True):
        live_accounts, live_fidelity = json.loads(path.with_suffix(".live").read_text("utf-8"))
        assert accounts == live_accounts
        assert fidelity[:3] == live_fidelity[:3]
        assert fidelity[1] == status
        assert fidelity[3] == pytest.approx(live_fidelity[3], rel=0.5)
        assert fidelity[4] <= live_fidelity[4]
