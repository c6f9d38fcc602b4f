"""Makes the scorer that runs on several processes: on the CPU, or on one GPU each."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from jobs.references import load_torch
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from monitor.ports import Scorer
from reference.engines.pool import PoolScorer
from reference.executor import ProcessExecutor
from reference.tokenizer import GoldenTokenizer


def pool_of(reference: ReferenceConfig) -> PoolScorer:
    """Start the first of the workers of `reference`; the others start when there is work for them.

    The weights are loaded in the workers and never in this process.

    Raises
    ------
    GoldenError
        When they cannot be loaded.
    """
    executor = ProcessExecutor(partial(start, reference), reference.workers)
    try:
        mark = executor.identify()
        tokenizer = GoldenTokenizer.load(Path(reference.paths[0]), options=reference.template)
    except GoldenError:
        executor.close()
        raise
    return PoolScorer(fingerprint=mark, tokenizer=tokenizer, executor=executor, n_workers=reference.workers)


def start(reference: ReferenceConfig, number: int) -> Scorer:
    """Load the engine of worker `number`: with device cuda on the GPU of that number, else on a share of the cores."""
    device = f"cuda:{number}" if reference.device == "cuda" else reference.device
    threads = max(1, (os.cpu_count() or 1) // reference.workers)
    return load_torch(replace(reference, device=device), threads)
