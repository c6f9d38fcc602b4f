"""Variants as folders, GGUF files and in memory, against transformers models that were changed by hand."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers
from gguf.quants import dequantize, quantize
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save_file

from monitor.errors import GoldenError
from reference.fingerprint import seal
from reference.tokenizer import GoldenTokenizer
from reference.variants import gguf_file, hf_folder
from reference.variants.bank import find
from reference.variants.kv_cache import register
from reference.variants.loaded import varied
from reference.variants.tensors import tensors
from tests.reference.gguf_description import save_description

IDS = torch.tensor([[1, 40, 41, 42, 99, 100, 101, 7, 8, 9, 250, 251, 252, 60, 61, 62, 63, 64]])


def logits(model: Any) -> Any:
    with torch.inference_mode():
        return model(IDS).logits[0].float().numpy()


def loaded(folder: Path, **changes: Any) -> Any:
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, **changes)
    return model.eval()


def written(folder: Path, out: Path, name: str) -> Path:
    hf_folder.write(folder, out, find(name))
    return out


def test_a_folder_holds_the_applied_weights_and_everything_else(wide_folder: Path, tmp_path: Path) -> None:
    out = written(wide_folder, tmp_path / "out", "int4-g32")
    golden, found = load_file(wide_folder / "model.safetensors"), load_file(out / "model.safetensors")
    assert golden.keys() == found.keys()
    for name, weight in golden.items():
        assert_array_equal(found[name], find("int4-g32").apply(name, weight))
    for name in ("config.json", "generation_config.json"):
        assert json.loads((out / name).read_text("utf-8")) == json.loads((wide_folder / name).read_text("utf-8"))
    messages = [{"role": "user", "content": "The river"}]
    assert GoldenTokenizer.load(out).prompt_ids(messages) == GoldenTokenizer.load(wide_folder).prompt_ids(messages)


def test_a_sealed_golden_folder_is_not_sealed_as_a_variant(wide_folder: Path, tmp_path: Path) -> None:
    golden = written(wide_folder, tmp_path / "golden", "fp16")
    seal(golden, source="x", source_sha256="0" * 64, versions={})
    assert not (written(golden, tmp_path / "out", "fp16") / "weighmaster.json").exists()


@pytest.mark.parametrize("name", ["int4-g32", "Q8_0", "bf16"])
def test_in_memory_is_the_folder_and_golden_comes_back(wide_folder: Path, tmp_path: Path, name: str) -> None:
    expected = logits(loaded(written(wide_folder, tmp_path / "out", name)))
    model = loaded(wide_folder)
    before = logits(model)
    with varied(model, find(name)):
        assert_array_equal(logits(model), expected)
    assert_array_equal(logits(model), before)
    assert not np.array_equal(expected, before)


def test_dropped_layers_are_the_middle_ones(wide_folder: Path, tmp_path: Path) -> None:
    found = loaded(written(wide_folder, tmp_path / "out", "layers-2"))
    oracle = loaded(wide_folder)
    kept = [oracle.model.layers[0], oracle.model.layers[3]]
    oracle.model.layers = torch.nn.ModuleList(kept)
    oracle.config.num_hidden_layers = 2
    for number, layer in enumerate(kept):
        layer.self_attn.layer_idx = number
    assert_array_equal(logits(found), logits(oracle))


def test_another_rotary_base(wide_folder: Path, tmp_path: Path) -> None:
    found = loaded(written(wide_folder, tmp_path / "out", "rope-x0.1"))
    config = transformers.AutoConfig.from_pretrained(wide_folder)
    config.rope_parameters["rope_theta"] = 1000.0
    assert_array_equal(logits(found), logits(loaded(wide_folder, config=config)))
    assert not np.array_equal(logits(found), logits(loaded(wide_folder)))
    assert find("rope-x0.1").config({"rope_theta": 500000.0}) == {"rope_theta": 50000.0}
    assert find("rope-x0.1").server_options({"rope_theta": 500000.0}) == ("--rope-freq-base", "50000")
    with pytest.raises(GoldenError, match="no rope_theta"):
        find("rope-x0.1").config({})


@pytest.mark.parametrize(("name", "kind"), [("kv-8", "Q8_0"), ("kv-4", "Q4_0")])
def test_keys_and_values_are_rounded_as_ggml_rounds_blocks(
    wide_folder: Path, tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: torch's own attention, handed keys and values that gguf's code quantised."""
    register()
    found = logits(loaded(written(wide_folder, tmp_path / "out", name)))
    exact, target = torch.nn.functional.scaled_dot_product_attention, gguf.GGMLQuantizationType[kind]

    def coded(states: torch.Tensor) -> torch.Tensor:
        rows = states.detach().numpy().reshape(-1, states.shape[-1])
        return torch.from_numpy(dequantize(quantize(rows, target), target)).reshape(states.shape)

    def attend(query: Any, key: Any, value: Any, *rest: Any, **options: Any) -> Any:
        return exact(query, coded(key), coded(value), *rest, **options)

    model = loaded(wide_folder)
    golden = logits(model)
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attend)
    assert_allclose(found, logits(model), atol=2e-4)
    assert np.abs(found - golden).max() > 0.01


def test_a_damaged_tokenizer_splits_more_and_keeps_the_text(wide_folder: Path, tmp_path: Path) -> None:
    golden, found = GoldenTokenizer.load(wide_folder), GoldenTokenizer.load(
        written(wide_folder, tmp_path / "out", "merges-50%")
    )  # fmt: skip
    text = "The bridge over the river is narrow."
    assert len(found.encode(text)) > len(golden.encode(text))
    assert found.decode(found.encode(text)) == text


def test_a_gguf_holds_types_layers_template_and_merges(wide_folder: Path, tmp_path: Path) -> None:
    source = save_description(wide_folder, tmp_path / "source.gguf")

    def read(name: str) -> gguf.GGUFReader:
        path = tmp_path / f"{name}.gguf"
        gguf_file.write(wide_folder, source, path, "F32", find(name))
        return gguf.GGUFReader(path)

    def values(reader: gguf.GGUFReader) -> dict[str, Any]:
        return {tensor.name: gguf.dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}

    int4 = values(read("int4-g32"))
    golden = load_file(wide_folder / "model.safetensors")
    name = "model.layers.3.mlp.down_proj.weight"
    assert_array_equal(int4["blk.3.ffn_down.weight"], find("int4-g32").apply(name, golden[name]))
    coded = {tensor.name: tensor.tensor_type.name for tensor in read("Q4_0+emb-Q8_0").tensors}
    assert (coded["token_embd.weight"], coded["blk.0.ffn_up.weight"]) == ("Q8_0", "Q4_0")
    assert coded["blk.0.attn_norm.weight"] == "F32"
    fewer = read("layers-2")
    assert fewer.fields["llama.block_count"].contents() == 2
    assert_array_equal(values(fewer)["blk.1.ffn_down.weight"], golden[name])
    assert read("rope-x0.1").fields["llama.rope.freq_base"].contents() == 1000.0
    template = read("other-template").fields["tokenizer.chat_template"].contents()
    assert template.startswith("{% for turn in messages %}{{ '## '")
    merges = gguf.GGUFReader(source).fields["tokenizer.ggml.merges"].contents()
    assert read("merges-50%").fields["tokenizer.ggml.merges"].contents() == merges[: round(len(merges) / 2)]


def test_another_checkpoint_brings_its_own_weights(wide_folder: Path, tmp_path: Path) -> None:
    other = written(wide_folder, tmp_path / "other", "int4")
    variant = find(f"checkpoint:path={other},label=sibling")
    hf_folder.write(wide_folder, tmp_path / "out", variant)
    assert_array_equal(logits(loaded(tmp_path / "out")), logits(loaded(other)))
    assert (variant.name, variant.family) == ("checkpoint-other", "sibling")
    (name, weight), *_ = tensors(wide_folder)
    with pytest.raises(GoldenError, match="has shape"):
        variant.apply(name, weight[:1])
    with pytest.raises(GoldenError, match="has no tensor nothing"):
        variant.apply("nothing", weight)


def test_every_float_type_is_read_and_others_are_refused(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.25], [0.0, 1e-3]], dtype=np.float32)
    from safetensors.torch import save_file as save_torch

    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        oracle = torch.from_numpy(values).to(dtype)
        save_torch({"w": oracle}, tmp_path / "model.safetensors")
        assert_array_equal(dict(tensors(tmp_path))["w"], oracle.float().numpy())
    save_file({"w": np.zeros(3, dtype=np.int8)}, tmp_path / "model.safetensors")
    with pytest.raises(GoldenError, match="w is I8; only"):
        dict(tensors(tmp_path))


def test_shards_keep_their_index(wide_folder: Path, tmp_path: Path) -> None:
    golden = tmp_path / "sharded"
    loaded(wide_folder).save_pretrained(golden, max_shard_size="100KB")
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (golden / name).write_bytes((wide_folder / name).read_bytes())
    assert len(list(golden.glob("*.safetensors"))) > 1
    out = written(golden, tmp_path / "out", "layers-2")
    expected = written(wide_folder, tmp_path / "expected", "layers-2")
    assert_array_equal(logits(loaded(out)), logits(loaded(expected)))


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_damaged_file_leaves_nothing_behind(wide_folder: Path, tmp_path: Path, cut: int) -> None:
    golden = written(wide_folder, tmp_path / "golden", "fp16")
    path = golden / "model.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(GoldenError, match=r"model\.safetensors: cannot be read: .*reference build"):
        written(golden, tmp_path / "out", "fp16")
    assert [item.name for item in tmp_path.iterdir()] == ["golden"]
