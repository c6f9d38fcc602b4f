"""The golden weights as a GGUF file of a chosen precision: what an honest or a dishonest provider might serve.

Matrices get the chosen type, vectors (norms) stay F32, as llama.cpp's own conversion does. Everything else (template,
tokenizer, architecture) is copied from the GGUF that the golden folder was made from. Only the llama architecture.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import gguf
import numpy as np
from gguf.quants import quantize
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from monitor.errors import GoldenError
from reference.folder import REBUILD, read_json, weight_files

Kind = Literal["F32", "F16", "BF16", "Q8_0", "Q5_0", "Q4_1", "Q4_0"]
"""Types of the matrices that can be written."""

_FILE_TYPES = {"F32": "ALL_F32"}
_REPLACED = ("general.architecture", "general.file_type", "general.quantization_version")


def write(golden: Path, source: Path, out: Path, kind: Kind) -> None:
    """Write the weights of the folder `golden` as `out`, with matrices of type `kind` and the metadata of `source`.

    `out` appears only when it is complete.

    Raises
    ------
    GoldenError
        When a file is missing or damaged, the architecture is not llama, or `kind` is not one of `Kind`.
    """
    if kind not in get_args(Kind):
        raise GoldenError(f"GGUF type {kind!r} is not one of {', '.join(get_args(Kind))}")
    config = read_json(golden, "config.json")
    if config.get("model_type") != "llama":
        raise GoldenError(f"{golden}: cannot write model type {config.get('model_type')!r} as GGUF, only llama")
    if not source.is_file():
        raise GoldenError(f"{source}: not found; it gives the metadata of the GGUF file")
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        _write(golden, config, source, fresh, kind)
        fresh.replace(out)
    finally:
        fresh.unlink(missing_ok=True)


def _write(golden: Path, config: dict[str, Any], source: Path, out: Path, kind: str) -> None:
    writer = gguf.GGUFWriter(out, "llama")
    _copy_metadata(source, writer)
    writer.add_file_type(gguf.LlamaFileType[_FILE_TYPES.get(kind, f"MOSTLY_{kind}")])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for name, weight in _llama_tensors(golden, config):
        matrix = weight.ndim > 1
        target = gguf.GGMLQuantizationType[kind] if matrix else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, quantize(weight, target), raw_dtype=target)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _copy_metadata(source: Path, writer: gguf.GGUFWriter) -> None:
    for key, entry in gguf.GGUFReader(source).fields.items():
        if key.startswith("GGUF.") or key in _REPLACED:
            continue
        if entry.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(key, entry.contents())
        else:
            writer.add_key_value(key, entry.contents(), entry.types[0])


def _llama_tensors(golden: Path, config: dict[str, Any]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the weights under their GGUF names, in float32."""
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for shard in weight_files(golden):
        try:
            with safe_open(shard, framework="numpy") as tensors:
                for key in tensors.keys():  # noqa: SIM118  # not a dict
                    name = names.get_name(key, try_suffixes=(".weight", ".bias"))
                    if name is None:
                        raise GoldenError(f"{shard}: no GGUF name for tensor {key}")
                    weight = tensors.get_tensor(key).astype(np.float32)
                    n_heads = next((n for part, n in heads.items() if f".{part}." in key), None)
                    yield name, weight if n_heads is None else _interleaved(weight, n_heads)
        except (SafetensorError, OSError, TypeError) as error:
            raise GoldenError(f"{shard}: cannot be read: {error} (run `{REBUILD}`)") from error


def _interleaved(weight: NDArray[np.float32], n_heads: int) -> NDArray[np.float32]:
    """Reorder the rows of a query or key projection for ggml.

    ggml's llama rotates neighbouring rows of a head together, transformers the rows of its two halves.
    """
    halves = weight.reshape(n_heads, 2, -1, *weight.shape[1:])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def main() -> None:
    """Run `write` with the arguments of the command line."""
    parser = argparse.ArgumentParser(description="write the golden weights as a GGUF file")
    parser.add_argument("golden", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("kind", choices=get_args(Kind))
    arguments = parser.parse_args()
    try:
        write(arguments.golden, arguments.source, arguments.out, arguments.kind)
    except GoldenError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
