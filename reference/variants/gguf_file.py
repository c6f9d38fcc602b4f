"""The golden weights, or a variant of them, as a GGUF file: what an honest or a dishonest provider might serve.

Matrices get the chosen type, or the type of their own that a variant has for them; vectors (norms) stay F32, as
llama.cpp's own conversion does. Everything else (template, tokenizer, architecture) is copied from the GGUF that the
golden folder was made from, and changed where the variant changes it. Only the llama architecture.

``python -m reference.variants.gguf_file GOLDEN SOURCE OUT KIND [--variant NAME]`` writes one.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import gguf
from gguf.quants import quantize
from numpy.typing import NDArray

from monitor.errors import GoldenError, WeighmasterError
from reference.folder import read_json
from reference.variants.bank import find
from reference.variants.q2_k import Q2K
from reference.variants.rope import base_of
from reference.variants.tensors import tensors
from reference.variants.variant import Variant, Weights

Kind = Literal["F32", "F16", "BF16", "Q8_0", "Q5_0", "Q4_1", "Q4_0"]
"""Types of the matrices that can be written."""

_FILE_TYPES = {"F32": "ALL_F32"}
_REPLACED = ("general.architecture", "general.file_type", "general.quantization_version")


GOLDEN = Variant()
"""The variant that changes nothing."""


def write(golden: Path, source: Path, out: Path, kind: Kind, variant: Variant = GOLDEN) -> None:
    """Write the folder `golden`, changed by `variant`, as `out`, with the metadata of `source`.

    `kind` is the type of the matrices for which `variant` has none of its own. `out` appears only when it is complete.

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
        writer = gguf.GGUFWriter(fresh, "llama")
        _write_metadata(source, writer, variant, config, kind)
        _write_tensors(golden, writer, variant, config, kind)
        fresh.replace(out)
    finally:
        fresh.unlink(missing_ok=True)


def _write_metadata(
    source: Path, writer: gguf.GGUFWriter, variant: Variant, config: dict[str, Any], kind: str
) -> None:
    changed = variant.config(config)
    given = {"llama.block_count": changed["num_hidden_layers"]}
    if variant.changes == "rope":
        given["llama.rope.freq_base"] = base_of(changed)
    for key, entry in gguf.GGUFReader(source).fields.items():
        if key.startswith("GGUF.") or key in _REPLACED:
            continue
        value = given.get(key, entry.contents())
        if key == "tokenizer.chat_template":
            value = variant.template(value)
        elif key == "tokenizer.ggml.merges":
            value = variant.merges(value)
        if entry.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(key, value)
        else:
            writer.add_key_value(key, value, entry.types[0])
    writer.add_file_type(gguf.LlamaFileType[_FILE_TYPES.get(kind, f"MOSTLY_{kind}")])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _write_tensors(
    golden: Path, writer: gguf.GGUFWriter, variant: Variant, config: dict[str, Any], kind: str
) -> None:
    for name, weight, own in _llama_tensors(golden, config, variant):
        matrix = weight.ndim > 1
        target = gguf.GGMLQuantizationType[(own or kind) if matrix else "F32"]
        writer.add_tensor(name, _coded(weight, target), raw_dtype=target)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _coded(weight: Weights, target: gguf.GGMLQuantizationType) -> NDArray[Any]:
    if target == gguf.GGMLQuantizationType.Q2_K:  # which the package gguf cannot write
        return Q2K.of(weight).packed().reshape(*weight.shape[:-1], -1)
    coded: NDArray[Any] = quantize(weight, target)
    return coded


def _llama_tensors(
    golden: Path, config: dict[str, Any], variant: Variant
) -> Iterator[tuple[str, Weights, str | None]]:
    """Yield the weights under their GGUF names, in float32, with the GGUF type that they must have.

    A matrix with a type of its own is left as it is: the type does what the variant would.
    """
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for key, weight in tensors(golden):
        renamed = variant.tensor_name(key, config)
        if renamed is None:
            continue
        name = names.get_name(renamed, try_suffixes=(".weight", ".bias"))
        if name is None:
            raise GoldenError(f"{golden}: no GGUF name for tensor {key}")
        own = variant.gguf_type(key, weight) if weight.ndim > 1 else None
        served = weight if own else variant.apply(key, weight)
        n_heads = next((n for part, n in heads.items() if f".{part}." in key), None)
        yield name, served if n_heads is None else _interleaved(served, n_heads), own


def _interleaved(weight: Weights, n_heads: int) -> Weights:
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
    parser.add_argument("--variant", help="a name of the bank, or KIND:FIELD=VALUE,...")
    arguments = parser.parse_args()
    try:
        variant = find(arguments.variant) if arguments.variant else GOLDEN
        write(arguments.golden, arguments.source, arguments.out, arguments.kind, variant)
    except WeighmasterError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
