"""What a real vLLM answers to the benchmark of `identify`: golden weights, checkpoints of the bank, its own schemes."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.compressed import write_w4a16, write_w8a8
from jobs.ensemble import Bench
from monitor.results import RunRecord
from monitor.stats.hypotheses import FAITHFUL
from reference.variants import hf_folder
from reference.variants.bank import find


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How vLLM serves one endpoint, and what that is in the bank.

    ``scheme`` is the variant that is to be named, or golden's family. ``write`` makes the folder that is served out of
    the golden one, which is served itself without; ``options`` go to vLLM's command line.
    """

    scheme: str
    dtype: str = "bfloat16"
    write: Callable[[Path, Path], None] | None = None
    options: tuple[str, ...] = ()

    async def record(self, name: str, python: Path, bench: Bench) -> RunRecord:
        """Serve it with the vLLM that `python` has, and ask."""
        if self.write is None:
            return await bench.vllm(name, python, self.dtype, *self.options)
        with tempfile.TemporaryDirectory(dir=bench.home) as folder:
            made = Path(folder) / "served"
            self.write(bench.golden, made)
            return await replace(bench, golden=made).vllm(name, python, self.dtype, *self.options)


def _dequantised(variant: str) -> Setting:
    """The weights of a variant, written out in float32; vLLM rounds them to what it computes in."""

    def write(golden: Path, out: Path) -> None:
        hf_folder.write(golden, out, find(variant))

    return Setting(scheme=variant, write=write)


SETTINGS = {
    "vLLM float32": Setting(scheme=FAITHFUL, dtype="float32"),
    "vLLM bf16": Setting(scheme="bf16"),
    **{f"vLLM bf16, {name}": _dequantised(name) for name in ("Q8_0", "Q5_0", "Q4_0", "fp8-channel")},
    "vLLM W8A8": Setting(scheme="int8", write=write_w8a8),
    "vLLM W4A16": Setting(scheme="int4-g64", write=write_w4a16),
    "vLLM fp8 cache": Setting(scheme="kv-8", options=("--kv-cache-dtype", "fp8")),
}
"""Endpoints by name. The first six are weights of the bank as a checkpoint, the others vLLM's own arithmetic."""
