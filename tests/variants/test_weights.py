"""Rounding schemes against torch's own casts, ggml's own code, and sums done by hand."""

import ctypes
import math
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf.quants import dequantize, quantize
from numpy.testing import assert_allclose, assert_array_equal

from reference.variants.bank import bank, find, schemes
from reference.variants.cast import to_bfloat16, to_float16
from reference.variants.fp8 import to_e4m3
from reference.variants.nf4 import CODES
from reference.variants.variant import Weights

LINEAR = "model.layers.0.mlp.up_proj.weight"


def matrix(rows: int = 40, columns: int = 256, seed: int = 0) -> Weights:
    rng = np.random.default_rng(seed)
    return (rng.standard_t(4, (rows, columns)) * 0.03).astype(np.float32)


def applied(name: str, weight: Weights, tensor: str = LINEAR) -> Weights:
    found = find(name).apply(tensor, weight)
    assert found.dtype == np.float32
    assert found.shape == weight.shape
    return found


def edge_values() -> Weights:
    """Ties, subnormals, zeros, and a spread over many magnitudes."""
    grid = np.arange(-4096, 4096, dtype=np.float32) / 8
    small = np.ldexp(np.arange(-64, 65, dtype=np.float32), -13)
    spread = np.random.default_rng(1).normal(0, 1, 5000) * 10.0 ** np.random.default_rng(2).integers(-6, 3, 5000)
    values: Weights = np.concatenate([grid, small, spread]).astype(np.float32)
    return values


def test_e4m3_is_the_cast_of_torch() -> None:
    values = edge_values()
    values = values[np.abs(values) <= 448]
    oracle = torch.from_numpy(values).to(torch.float8_e4m3fn).float().numpy()
    assert_array_equal(to_e4m3(values), oracle)


def test_beyond_the_largest_e4m3_value_saturates() -> None:
    assert_array_equal(to_e4m3(np.array([500, -1e9], dtype=np.float32)), [448, -448])


def test_sixteen_bit_casts_are_those_of_torch() -> None:
    values = np.concatenate([edge_values(), np.array([1e6, -1e6, 65504, 65520, 3e38], dtype=np.float32)])
    tensor = torch.from_numpy(values)
    assert_array_equal(to_bfloat16(values), tensor.bfloat16().float().numpy())
    assert_array_equal(to_float16(values), tensor.half().float().numpy())


@pytest.mark.parametrize(("name", "per"), [("fp8-tensor", None), ("fp8-channel", 1)])
def test_fp8_has_one_scale_per_tensor_or_channel(name: str, per: int | None) -> None:
    weight = matrix()
    tensor = torch.from_numpy(weight)
    peak = tensor.abs().amax() if per is None else tensor.abs().amax(per, keepdim=True)
    scale = peak / 448
    oracle = (tensor / scale).to(torch.float8_e4m3fn).float() * scale
    assert_allclose(applied(name, weight), oracle.numpy(), rtol=1e-6)


def test_fp8_blocks_at_the_edge_are_smaller() -> None:
    weight = matrix(200, 300)
    found = applied("fp8-block", weight)
    for top, left in ((0, 0), (128, 256)):
        part = torch.from_numpy(weight[top : top + 128, left : left + 128])
        scale = part.abs().amax() / 448
        oracle = (part / scale).to(torch.float8_e4m3fn).float() * scale
        assert_allclose(found[top : top + 128, left : left + 128], oracle.numpy(), rtol=1e-6)


def rounded_by_hand(row: list[float], bits: int) -> list[float]:
    peak, top = max(abs(value) for value in row), 2 ** (bits - 1) - 1
    return [round(value / peak * top) * peak / top for value in row]


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("group", [None, 32, 64, 128])
def test_integers_are_the_nearest_step_of_their_group(bits: int, group: int | None) -> None:
    weight = matrix(6, 256)
    found = applied(f"int{bits}" + (f"-g{group}" if group else ""), weight)
    width = group or 256
    for row in range(6):
        for start in range(0, 256, width):
            expected = rounded_by_hand([float(x) for x in weight[row, start : start + width]], bits)
            assert_allclose(found[row, start : start + width], expected, rtol=1e-5, atol=1e-8)


def test_inputs_that_do_not_divide_are_one_group() -> None:
    weight = matrix(4, 96)
    assert_array_equal(applied("int4-g64", weight), applied("int4", weight))
    assert not np.array_equal(applied("int4-g32", weight), applied("int4", weight))


def test_nf4_takes_the_nearest_code_of_the_published_book() -> None:
    """64 divides neither row nor tensor: blocks run over rows, and the last is short."""
    weight = matrix(7, 30)
    flat = [float(x) for x in weight.reshape(-1)]
    expected = []
    for start in range(0, len(flat), 64):
        block = flat[start : start + 64]
        peak = max(abs(value) for value in block)
        expected += [min((float(code) for code in CODES), key=lambda c: abs(c - v / peak)) * peak for v in block]
    assert_allclose(applied("nf4", weight).reshape(-1), expected, rtol=1e-5)


def test_the_nf4_book_is_made_of_normal_quantiles() -> None:
    """Oracle: QLoRA's construction, 2^k + 1 and 2^k quantiles of N(0, 1) for the halves, scaled to one."""
    from scipy.stats import norm

    offset = 0.9677083
    positive = norm.ppf(np.linspace(offset, 0.5, 9)[:-1])
    negative = -norm.ppf(np.linspace(offset, 0.5, 8)[:-1])
    book = np.sort(np.concatenate([positive, negative, [0.0]]))
    assert_allclose(CODES, book / book.max(), atol=2e-6)


def quantised_by_ggml(weight: Weights, kind: gguf.GGMLQuantizationType) -> Any:
    """Oracle: llama.cpp's own C code, exported by the xllamacpp extension."""
    extension: Any = pytest.importorskip("xllamacpp.xllamacpp")
    convert = ctypes.CDLL(extension.__file__).ggml_quantize_chunk
    convert.restype = ctypes.c_size_t
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    convert.argtypes = [ctypes.c_int, pointer, pointer, size, size, size, pointer]
    block, n_bytes = gguf.GGML_QUANT_SIZES[kind]
    rows, columns = weight.shape
    out = np.empty((rows, columns // block * n_bytes), dtype=np.uint8)
    written = convert(int(kind), weight.ctypes.data, out.ctypes.data, 0, rows, columns, None)
    assert written == out.nbytes
    return out


@pytest.mark.lab
@pytest.mark.parametrize("name", ["Q8_0", "Q5_0", "Q4_0", "Q4_1"])
def test_gguf_blocks_are_those_of_llama_cpp(name: str) -> None:
    kind, weight = gguf.GGMLQuantizationType[name], matrix(64, 320)
    assert_array_equal(applied(name, weight), dequantize(quantised_by_ggml(weight, kind), kind))


def test_q8_0_by_hand() -> None:
    weight = matrix(1, 32)
    scale = float(np.float16(np.abs(weight).max() / 127))
    peak = float(np.abs(weight).max())
    expected = [math.copysign(math.floor(abs(float(x)) / peak * 127 + 0.5), x) * scale for x in weight[0]]
    assert_allclose(applied("Q8_0", weight)[0], expected, rtol=1e-6)


def test_rows_that_do_not_divide_into_blocks_become_half_precision() -> None:
    weight = matrix(4, 40)
    assert_array_equal(applied("Q4_0", weight), to_float16(weight))


def test_embeddings_may_have_a_type_of_their_own() -> None:
    weight, name = matrix(), "model.embed_tokens.weight"
    kind = gguf.GGMLQuantizationType.Q8_0
    assert_array_equal(applied("Q4_0+emb-Q8_0", weight, name), dequantize(quantize(weight, kind), kind))
    assert_array_equal(applied("Q4_0+emb-Q8_0", weight), applied("Q4_0", weight))


QUANTISERS = [name for name, variant in bank().items() if type(variant).__name__ in {"Fp8", "Integer", "Nf4"}]


@pytest.mark.parametrize("name", QUANTISERS)
@pytest.mark.parametrize(
    "tensor", ["model.embed_tokens.weight", "lm_head.weight", "model.layers.0.mlp.gate.weight", "model.norm.weight"]
)
def test_what_recipes_keep_is_kept(name: str, tensor: str) -> None:
    weight = matrix()
    assert applied(name, weight, tensor) is weight


@pytest.mark.parametrize("name", [*QUANTISERS, "Q8_0", "Q5_0", "Q4_0", "Q4_1", "bf16", "fp16"])
def test_zeros_stay_zero_and_repeats_agree(name: str) -> None:
    zeros = np.zeros((32, 64), dtype=np.float32)
    assert_array_equal(applied(name, zeros), zeros)
    weight = matrix()
    assert_array_equal(applied(name, weight), applied(name, weight))
    stacked = np.stack([matrix(seed=1), matrix(seed=2)])  # experts of one tensor
    if name != "fp8-tensor":
        assert_array_equal(applied(name, stacked)[1], applied(name, stacked[1]))


def test_coarser_schemes_err_more() -> None:
    """Oracle: the order that bits and group sizes must have."""
    weight = matrix(64, 512)

    def error(name: str) -> float:
        return float(np.sqrt(np.mean((applied(name, weight) - weight) ** 2)))

    order = ["fp16", "bf16", "int8-g32", "int8", "fp8-channel", "int4-g32", "int4-g128", "int4"]
    errors = [error(name) for name in order]
    assert errors == sorted(errors)
    assert error("Q8_0") < error("Q5_0") < error("Q4_1") < error("Q4_0")


def test_every_scheme_is_in_a_file_of_its_own() -> None:
    kinds = schemes()
    assert len({scheme.__module__ for scheme in kinds.values()}) == len(kinds)
    assert all(kind == scheme.kind for kind, scheme in kinds.items())
