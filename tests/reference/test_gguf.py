"""Golden folder to GGUF and back: bit-exact in F32, within the known error of each coarser type."""

import json
from pathlib import Path
from typing import Any, get_args

import gguf
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file

from monitor.errors import GoldenError
from reference.fingerprint import file_sha256, verify
from reference.tokenizer import GoldenTokenizer
from reference.variants import from_gguf, gguf_file
from tests.reference.gguf_description import save_description
from tests.reference.tiny import EOS, TEMPLATE


@pytest.fixture(scope="module")
def source(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file that describes the tiny model but holds no weights."""
    return save_description(tiny_folder, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def matrices(path: Path) -> dict[str, Any]:
    tensors = gguf.GGUFReader(path).tensors
    return {tensor.name: gguf.dequantize(tensor.data, tensor.tensor_type) for tensor in tensors}


def test_a_round_trip_through_f32_keeps_every_weight(tiny_folder: Path, source: Path, tmp_path: Path) -> None:
    """Oracle: transformers' own reading of the GGUF undoes names and row order."""
    path, folder = tmp_path / "F32.gguf", tmp_path / "golden"
    gguf_file.write(tiny_folder, source, path, "F32")
    from_gguf.build(path, folder, expected_sha256=file_sha256(path))
    expected, found = load_file(tiny_folder / "model.safetensors"), load_file(folder / "model.safetensors")
    assert expected.keys() == found.keys()
    for name, weight in expected.items():
        assert_array_equal(weight, found[name], err_msg=name)
    verify(folder)
    tokenizer = GoldenTokenizer.load(folder)
    assert tokenizer.eos_ids == {EOS}
    assert len(tokenizer.encode("345")) == 3  # digits one by one: the repair of the smollm pre-tokenizer
    assert tokenizer.render([{"role": "user", "content": "x"}]).endswith("<|im_start|>assistant\n")
    assert json.loads((folder / "weighmaster.json").read_text("utf-8"))["source"] == "F32.gguf"
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".")] == []


# Root mean square of the error over that of the weights. Source: uniform rounding in blocks of 32 normal weights,
# step = range / (2^bits - 1); generous by a factor of two.
ERRORS = {"F32": 0.0, "F16": 0.0005, "BF16": 0.004, "Q8_0": 0.012, "Q5_0": 0.10, "Q4_1": 0.18, "Q4_0": 0.2}


@pytest.mark.parametrize("kind", get_args(gguf_file.Kind))
def test_each_kind_has_its_error_and_its_file_type(
    kind: gguf_file.Kind, tiny_folder: Path, source: Path, tmp_path: Path
) -> None:
    exact, path = tmp_path / "exact.gguf", tmp_path / "kind.gguf"
    gguf_file.write(tiny_folder, source, exact, "F32")
    gguf_file.write(tiny_folder, source, path, kind)
    expected, found = matrices(exact), matrices(path)
    assert expected.keys() == found.keys()
    for name, weight in expected.items():
        error = float(np.sqrt(np.mean((found[name] - weight) ** 2) / np.mean(weight**2)))
        bound = ERRORS[kind] if weight.ndim > 1 else 0.0
        assert error <= bound, name
        assert error > bound / 20 or bound == 0.0, name
    fields = gguf.GGUFReader(path).fields
    wanted = "ALL_F32" if kind == "F32" else f"MOSTLY_{kind}"
    assert fields["general.file_type"].contents() == gguf.LlamaFileType[wanted]
    assert fields["tokenizer.chat_template"].contents() == TEMPLATE


def test_wrong_inputs_leave_nothing_behind(tiny_folder: Path, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.gguf"
    with pytest.raises(GoldenError, match="'Q9' is not one of F32"):
        gguf_file.write(tiny_folder, source, out, "Q9")  # type: ignore[arg-type]
    with pytest.raises(GoldenError, match=r"none\.gguf: not found"):
        gguf_file.write(tiny_folder, tmp_path / "none.gguf", out, "F16")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_bytes((tiny_folder / "config.json").read_bytes())
    (broken / "model.safetensors").write_bytes((tiny_folder / "model.safetensors").read_bytes()[:-50])
    with pytest.raises(GoldenError, match=r"model\.safetensors: cannot be read"):
        gguf_file.write(broken, source, out, "F16")
    assert list(out.parent.glob("*")) == list(out.parent.glob(".*")) == []


def test_another_architecture_is_refused(tiny_folder: Path, source: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gemma2"}', "utf-8")
    with pytest.raises(GoldenError, match="only llama"):
        gguf_file.write(tmp_path, source, tmp_path / "out.gguf", "F16")


def test_a_gguf_that_is_not_the_pinned_one_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(GoldenError, match="expected 000"):
        from_gguf.build(source, tmp_path / "golden", expected_sha256="0" * 64)
    with pytest.raises(GoldenError, match="not found"):
        from_gguf.build(tmp_path / "none.gguf", tmp_path / "golden", expected_sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_build_keeps_the_old_folder(source: Path, tmp_path: Path) -> None:
    """The description holds no weights: the build must fail after it has begun."""
    old = tmp_path / "golden"
    old.mkdir()
    (old / "keep").write_text("me", "utf-8")
    with pytest.raises(GoldenError, match="has no tensor for"):
        from_gguf.build(source, old, expected_sha256=file_sha256(source))
    assert [item.name for item in tmp_path.rglob("*")] == ["golden", "keep"]


def test_a_new_build_replaces_the_old_folder(tiny_folder: Path, source: Path, tmp_path: Path) -> None:
    path, folder = tmp_path / "F32.gguf", tmp_path / "golden"
    gguf_file.write(tiny_folder, source, path, "F32")
    folder.mkdir()
    (folder / "stale").write_text("old", "utf-8")
    from_gguf.build(path, folder, expected_sha256=file_sha256(path))
    assert not (folder / "stale").exists()
    verify(folder)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["F32.gguf", "golden"]
