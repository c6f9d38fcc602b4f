"""Q2_K against the reader of the package gguf, lattices made by hand, and llama.cpp's own C code."""

from pathlib import Path

import gguf
import numpy as np
import pytest
import transformers
from gguf.quants import dequantize
from numpy.testing import assert_allclose, assert_array_equal

from reference.variants import gguf_file
from reference.variants.bank import find
from reference.variants.q2_k import Q2K
from reference.variants.tensors import read_tensor
from reference.variants.variant import Weights
from tests.reference.gguf_description import save_description
from tests.reference.tiny import CONTEXT, EOS, save_tiny
from tests.variants.test_weights import matrix, quantised_by_ggml

Q2_K = gguf.GGMLQuantizationType.Q2_K
DOWN = "model.layers.0.mlp.down_proj.weight"


def cases() -> dict[str, Weights]:
    """Matrices (8, 512) that a fit might stumble over."""
    plain = matrix(8, 512)
    spread = plain * np.repeat(np.ldexp(np.float32(1), -np.arange(32)), 16)
    lone = np.zeros_like(plain)
    lone[:, ::37] = plain[:, ::37]
    return {
        "plain": plain, "positive": np.abs(plain), "negative": -np.abs(plain), "zero": np.zeros_like(plain),
        "one value": np.full_like(plain, -0.25), "unequal sub-blocks": spread, "lone values": lone,
        "tiny": plain * 1e-9,
    }  # fmt: skip


@pytest.mark.parametrize("case", list(cases()))
def test_the_bytes_read_back_are_the_weights_predicted(case: str) -> None:
    """Oracle: gguf's own reader, which shares no code."""
    weight = cases()[case]
    packed = Q2K.of(weight).packed().reshape(8, -1)
    assert packed.shape == gguf.quant_shape_to_byte_shape(weight.shape, Q2_K)
    found = find("Q2_K").apply(DOWN, weight)
    assert found.dtype == np.float32
    assert_array_equal(found, dequantize(packed, Q2_K))


def test_weights_on_a_lattice_come_back() -> None:
    """Oracle: the formula, with units that half precision holds exactly."""
    rng = np.random.default_rng(5)
    scales, floors = rng.integers(0, 16, (2, 40, 16, 1))
    scales[:, 3] = floors[:, 7] = 15
    codes = rng.integers(0, 4, (40, 16, 16))
    codes[..., 0], codes[..., 1] = 0, 3
    weight = (2**-7 * scales * codes - 2**-6 * floors).astype(np.float32).reshape(40, 256)
    weight[0] = 0
    assert_allclose(find("Q2_K").apply(DOWN, weight), weight, atol=1e-6)


def test_it_errs_less_than_rounding_to_the_nearest_of_four_steps() -> None:
    """Even though that has a step and a floor in full precision for each sub-block, and Q2_K 4 bits of them."""
    weight = matrix(64, 512)
    sub = weight.reshape(-1, 16)
    low = sub.min(axis=1, keepdims=True)
    step = (sub.max(axis=1, keepdims=True) - low) / 3
    nearest = (np.rint((sub - low) / step) * step + low).reshape(weight.shape)
    assert rms(find("Q2_K").apply(DOWN, weight) - weight) < 0.97 * rms(nearest - weight)


def test_it_errs_more_than_any_scheme_of_four_bits() -> None:
    weight = matrix(64, 512)
    names = ("Q2_K", "Q4_0", "Q4_1", "nf4", "int4-g64")
    errors = {name: rms(find(name).apply(DOWN, weight) - weight) for name in names}
    assert max(errors, key=errors.__getitem__) == "Q2_K"


def test_blocks_are_fitted_on_their_own() -> None:
    """More blocks than are fitted at once, and experts of one tensor."""
    weight = matrix(1100, 256)
    found = find("Q2_K").apply(DOWN, weight)
    assert_array_equal(find("Q2_K").apply(DOWN, weight[1020:1030]), found[1020:1030])
    assert_array_equal(find("Q2_K").apply(DOWN, weight.reshape(4, 275, 256)), found.reshape(4, 275, 256))


@pytest.mark.parametrize(
    ("tensor", "columns", "expected"),
    [
        ("model.layers.0.mlp.down_proj.weight", 1536, "Q2_K"),
        ("model.layers.0.mlp.up_proj.weight", 576, "Q4_0"),
        ("model.layers.0.self_attn.v_proj.weight", 40, "F16"),
        ("model.embed_tokens.weight", 576, "Q8_0"),
        ("model.embed_tokens.weight", 512, "Q8_0"),
        ("lm_head.weight", 512, "Q8_0"),
        ("lm_head.weight", 40, "F16"),
    ],
)
def test_each_shape_has_its_type(tensor: str, columns: int, expected: str) -> None:
    """Oracle: the rule in the docs, and each type's own rounding."""
    variant, weight = find("Q2_K"), matrix(4, columns)
    assert variant.gguf_type(tensor, weight) == expected
    if expected != "Q2_K":
        alone = find("fp16" if expected == "F16" else expected)
        assert_array_equal(variant.apply(tensor, weight), alone.apply(DOWN, weight))


def test_vectors_stay_as_they_are() -> None:
    weight = matrix(1, 512)[0]
    assert find("Q2_K").gguf_type("model.norm.weight", weight) is None
    assert find("Q2_K").apply("model.norm.weight", weight) is weight


def test_a_gguf_file_holds_what_is_predicted(tmp_path: Path) -> None:
    """Oracle: gguf's reader; the writer has the golden weights, the prediction goes through `apply`."""
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=512, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        max_position_embeddings=CONTEXT, tie_word_embeddings=True, bos_token_id=1, eos_token_id=EOS,
    )  # fmt: skip
    golden = save_tiny(tmp_path / "golden", config=config)
    source, out = save_description(golden, tmp_path / "source.gguf"), tmp_path / "out.gguf"
    gguf_file.write(golden, source, out, "F16", find("Q2_K"))
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(out).tensors}
    types = {name: tensor.tensor_type.name for name, tensor in tensors.items()}
    assert types["blk.0.ffn_down.weight"] == "Q2_K"
    assert types["token_embd.weight"] == "Q8_0"
    assert {types[f"blk.0.{part}.weight"] for part in ("ffn_up", "ffn_gate", "attn_q", "attn_output")} == {"Q4_0"}
    assert types["blk.0.ffn_norm.weight"] == "F32"
    predicted = find("Q2_K").apply(DOWN, read_tensor(golden, DOWN))
    assert_array_equal(dequantize(tensors["blk.0.ffn_down.weight"].data, Q2_K), predicted)


@pytest.mark.lab
def test_most_weights_are_those_of_llama_cpp() -> None:
    """Oracle: ggml's own search. Measured: 97% the same, errors that correlate at 0.986."""
    weight = matrix(64, 1536)
    found, theirs = find("Q2_K").apply(DOWN, weight), dequantize(quantised_by_ggml(weight, Q2_K), Q2_K)
    assert np.mean(np.abs(found - theirs) <= 1e-6) > 0.95
    assert np.corrcoef((found - weight).reshape(-1), (theirs - weight).reshape(-1))[0, 1] > 0.97
    assert rms(found - weight) < 1.01 * rms(theirs - weight)


def rms(values: Weights) -> float:
    return float(np.sqrt(np.mean(values.astype(np.float64) ** 2)))
