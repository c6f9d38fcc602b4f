"""The golden engine in torch.

Runs any causal language model in a Hugging Face folder with safetensors weights. No speculation, no compiled graphs,
no quantised kernels: the plain forward is the reference.
"""

import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import torch
import transformers
from safetensors import SafetensorError

from monitor.errors import GoldenError
from reference.engines.local import LocalEngine
from reference.fingerprint import SEAL, fingerprint, require_revision, verify
from reference.folder import REBUILD, read_json, weight_files
from reference.tokenizer import GoldenTokenizer
from reference.torch_weights import TorchWeights

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
"""Precisions of weights and arithmetic that can be asked for."""

SPREAD = ("balanced", "sequential")
"""Ways to spread one model over all GPUs: alike, or one after the other (`device_map` of transformers)."""

_BATCH_TOKENS = {"cpu": 2048, "cuda": 32_768}


def best_device() -> str:
    """Return the fastest device of this machine: ``cuda``, ``mps`` or ``cpu``."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


class TorchEngine(LocalEngine):
    """Golden weights in torch. Made by `load`."""

    weights: TorchWeights

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        device: str = "auto",
        dtype: str = "float32",
        threads: int | None = None,
        revision: str | None = None,
        seed: int = 0,
        batch_tokens: int | None = None,
        template_options: Mapping[str, Any] = MappingProxyType({}),
        progress: Callable[[int, int], None] = lambda _done, _all: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Self:
        """Load the model in `folder`.

        Parameters
        ----------
        folder : Path
            Hugging Face model folder. Where it carries a seal, it must be as it was built.
        device : str
            ``auto``, a torch device, or one of `SPREAD`, which needs the package accelerate.
        dtype : str
            One of `DTYPES`.
        threads : int, optional
            CPU threads of the whole process; torch's own choice when None.
        revision : str, optional
            The commit that the folder's seal must name; its first characters will do.
        seed : int
            Seeds the sampled answers to requests without a seed of their own.
        batch_tokens : int, optional
            Upper bound of the tokens read at once, padding included; by device when None.
        template_options : Mapping
            More variables of the chat template, see `GoldenTokenizer.load`.
        progress : Callable
            Called with (tasks scored, tasks in all) after each batch.
        now : Callable
            Wall clock for stamps and for templates that write the date.

        Raises
        ------
        GoldenError
            When files are missing, damaged, changed or of another revision, or device or dtype cannot be used.
        """
        require_revision(folder, revision)
        if (folder / SEAL).exists():
            verify(folder)
        if threads is not None:
            torch.set_num_threads(threads)
        place = best_device() if device == "auto" else device
        tokenizer = GoldenTokenizer.load(folder, now=now, options=template_options)
        weights = TorchWeights(_load_model(folder, dtype, place))
        versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "tokenizers")}
        return cls(
            fingerprint=fingerprint(folder, dtype=dtype, engine=f"torch-{place}", versions=versions),
            tokenizer=tokenizer,
            name=folder.name,
            weights=weights,
            rng=np.random.default_rng(seed),
            batch_tokens=batch_tokens or _BATCH_TOKENS.get(weights.device.type, 4096),
            progress=progress,
            now=now,
        )


def _load_model(folder: Path, dtype: str, device: str) -> transformers.PreTrainedModel:
    if dtype not in DTYPES:
        raise GoldenError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    read_json(folder, "config.json")
    weight_files(folder)
    place = _spread_over(device) if device in SPREAD else {}
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    loader: Any = transformers.AutoModelForCausalLM  # its annotations do not know output_loading_info
    try:
        model, report = loader.from_pretrained(
            folder, dtype=DTYPES[dtype], local_files_only=True, use_safetensors=True, output_loading_info=True,
            trust_remote_code=False,  # None would ask on the terminal, and run what the folder or the hub has
            **place,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise GoldenError(f"{folder}: the weights cannot be loaded: {error} (run `{REBUILD}`)") from error
    lost = sorted(report["missing_keys"])
    if lost:
        raise GoldenError(f"{folder}: the weights lack {len(lost)} tensors, {lost[0]} first (run `{REBUILD}`)")
    try:
        loaded: transformers.PreTrainedModel = model.eval() if place else model.eval().to(device)
    except (RuntimeError, AssertionError) as error:
        raise GoldenError(f"device {device!r} cannot be used: {error}; use auto or cpu") from error
    return loaded


def _spread_over(device: str) -> dict[str, str]:
    """Arguments for transformers that spread a model. Raises GoldenError where that cannot be done."""
    if importlib.util.find_spec("accelerate") is None:
        raise GoldenError(f"device {device!r} spreads the model with a package that is missing: pip install accelerate")
    if torch.cuda.device_count() == 0:
        raise GoldenError(f"device {device!r} spreads the model over GPUs, and there is none; use auto or cpu")
    return {"device_map": device}
