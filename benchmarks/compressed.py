"""Golden weights as checkpoints in the format of compressed-tensors, which vLLM computes with in integers.

Linear layers are rounded as the variants ``int8`` and ``int4-g64`` of the bank round them; embeddings stay as they are.
Source: the parameters that vLLM 0.32's schemes ``compressed_tensors_w8a8_int8`` and ``_wNa16`` create.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from reference.folder import read_json
from reference.variants.tensors import shards, tensor
from reference.variants.variant import Weights, in_groups, is_linear, scale_of

_GROUP = 64
_Arrays = dict[str, NDArray[Any]]


def write_w8a8(golden: Path, out: Path) -> None:
    """Int8 weights with a scale per output channel, and activations rounded to int8 token by token."""
    weights = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False}
    inputs = {**weights, "strategy": "token", "dynamic": True}
    _write(golden, out, _int8, {"format": "int-quantized", "weights": weights, "input_activations": inputs})


def write_w4a16(golden: Path, out: Path) -> None:
    """Int4 weights with a scale for every 64 inputs, eight of them in a word; activations stay."""
    weights = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": _GROUP}
    _write(golden, out, _int4, {"format": "pack-quantized", "weights": {**weights, "dynamic": False}})


def _int8(name: str, weight: Weights) -> _Arrays:
    scale = scale_of(weight, 127)
    return {name: np.rint(weight / scale).astype(np.int8), f"{name}_scale": scale}


def _int4(name: str, weight: Weights) -> _Arrays:
    groups = in_groups(weight, _GROUP)
    scale = scale_of(groups, 7)
    steps = (np.rint(groups / scale).reshape(len(weight), -1, 8) + 8).astype(np.uint32)
    words = np.bitwise_or.reduce(steps << np.arange(0, 32, 4, dtype=np.uint32), axis=-1)
    return {
        f"{name}_packed": words.view(np.int32), f"{name}_scale": scale[..., 0],
        f"{name}_shape": np.array(weight.shape, dtype=np.int64),
    }  # fmt: skip


def _write(golden: Path, out: Path, rounded: Callable[[str, Weights], _Arrays], group: dict[str, Any]) -> None:
    shutil.copytree(golden, out, ignore=shutil.ignore_patterns("*.safetensors*"))
    written: _Arrays = {}
    for path, table in shards(golden):
        for name in table:
            weight = tensor(path, table, name)
            written |= rounded(name, weight) if is_linear(name, weight) else {name: weight}
    save_file(written, out / "model.safetensors", metadata={"format": "pt"})
    config = read_json(golden, "config.json")
    config["quantization_config"] = {
        "quant_method": "compressed-tensors", "quantization_status": "compressed", "format": group["format"],
        "config_groups": {"group_0": {"targets": ["Linear"], **group}}, "ignore": ["lm_head"],
    }  # fmt: skip
    (out / "config.json").write_text(json.dumps(config), "utf-8")
