"""A fingerprint changes with everything that decides an answer, and with nothing else."""

import json
import os
import shutil
from pathlib import Path

import pytest

from monitor.errors import GoldenError
from monitor.results import Fingerprint
from reference.fingerprint import BUILDER, file_sha256, fingerprint, hashes, seal, verify

DECISIVE = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
            "chat_template.jinja"]  # fmt: skip


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A sealed copy of the tiny model."""
    copy = tmp_path / "model"
    shutil.copytree(tiny_folder, copy)
    seal(copy, source="tiny", source_sha256="0" * 64, versions={"torch": "1"})
    return copy


def mark(folder: Path, dtype: str = "float32") -> Fingerprint:
    return fingerprint(folder, dtype=dtype, engine="torch-cpu", versions={"torch": "1"})


def edit_json(path: Path, key: str, value: object) -> None:
    document = json.loads(path.read_text("utf-8"))
    document[key] = value
    path.write_text(json.dumps(document), "utf-8")


def test_a_folder_as_built_verifies(folder: Path) -> None:
    verify(folder)
    verify(folder, trust_cache=False)
    os.utime(folder / "model.safetensors")
    verify(folder)


@pytest.mark.parametrize("name", DECISIVE)
def test_every_changed_file_is_named_with_the_remedy(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(GoldenError, match=rf"{name}: changed .*weighmaster reference build"):
        verify(folder)


def test_missing_and_new_files_are_named(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder / "another.safetensors")
    with pytest.raises(GoldenError, match=r"another\.safetensors: new"):
        verify(folder)
    (folder / "another.safetensors").unlink()
    (folder / "generation_config.json").unlink()
    with pytest.raises(GoldenError, match=r"generation_config\.json: missing"):
        verify(folder)


def test_a_change_that_keeps_size_and_time_is_seen_without_the_cache(folder: Path) -> None:
    path = folder / "model.safetensors"
    hashes(folder)
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    verify(folder)
    with pytest.raises(GoldenError, match="changed"):
        verify(folder, trust_cache=False)


def test_a_folder_without_a_seal_does_not_verify(tiny_folder: Path) -> None:
    with pytest.raises(GoldenError, match=r"weighmaster\.json: not found"):
        verify(tiny_folder)


def test_hashes_are_those_of_the_files_and_survive_a_broken_cache(folder: Path) -> None:
    expected = {name: file_sha256(folder / name) for name in DECISIVE}
    assert hashes(folder) == expected
    (folder / ".weighmaster-hashes.json").write_text('{"model.safetensors": 3}', "utf-8")
    assert hashes(folder) == expected


def test_each_part_of_the_fingerprint_follows_its_files(folder: Path) -> None:
    first = mark(folder)
    edit_json(folder / "config.json", "rms_norm_eps", 0.5)
    second = mark(folder)
    assert second.weights_sha256 != first.weights_sha256
    assert (second.tokenizer_sha256, second.template_sha256) == (first.tokenizer_sha256, first.template_sha256)
    (folder / "chat_template.jinja").write_text("{{ messages }}", "utf-8")
    third = mark(folder)
    assert third.template_sha256 != second.template_sha256
    assert third.tokenizer_sha256 == second.tokenizer_sha256
    edit_json(folder / "tokenizer_config.json", "eos_token", "<|endoftext|>")
    assert mark(folder).tokenizer_sha256 != third.tokenizer_sha256


def test_the_digest_covers_dtype_and_versions_but_not_place_or_saver(folder: Path, tmp_path: Path) -> None:
    first = mark(folder)
    copy = tmp_path / "elsewhere"
    shutil.copytree(folder, copy)
    edit_json(copy / "config.json", "transformers_version", "99.0")
    assert mark(copy) == first
    assert mark(folder, dtype="bfloat16").digest != first.digest
    other = fingerprint(folder, dtype="float32", engine="torch-cpu", versions={"torch": "2"})
    assert other.digest != first.digest


def test_a_folder_without_weights_has_no_fingerprint(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(GoldenError, match=r"no \*\.safetensors"):
        mark(folder)


def test_the_generation_config_is_part_of_the_fingerprint(folder: Path) -> None:
    first = mark(folder)
    edit_json(folder / "generation_config.json", "transformers_version", "99.0")
    assert mark(folder) == first
    edit_json(folder / "generation_config.json", "temperature", 0.6)
    assert mark(folder).generation_sha256 != first.generation_sha256
    assert mark(folder).digest != first.digest
    (folder / "generation_config.json").unlink()
    assert mark(folder).generation_sha256 is None


def test_another_revision_is_another_reference(folder: Path) -> None:
    seal(folder, source="hub", source_sha256=None, versions={}, revision="4fca21")
    assert mark(folder).revision == "4fca21"
    assert verify(folder, revision="4fca")["revision"] == "4fca21"
    with pytest.raises(GoldenError, match=r"is revision 4fca21, wanted beef.*reference build"):
        verify(folder, revision="beef")
    first = mark(folder)
    seal(folder, source="hub", source_sha256=None, versions={}, revision="beef01")
    assert mark(folder).digest != first.digest


def test_an_unknown_revision_is_not_the_wanted_one(folder: Path) -> None:
    with pytest.raises(GoldenError, match="is revision unknown, wanted beef"):
        verify(folder, revision="beef")


@pytest.mark.parametrize("built", [1, None])
def test_a_folder_of_another_conversion_is_refused(folder: Path, built: int | None) -> None:
    path = folder / "weighmaster.json"
    document = json.loads(path.read_text("utf-8"))
    document.pop("builder")
    if built is not None:
        document["builder"] = built
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(GoldenError, match=rf"built by version 1 of the conversion, this is {BUILDER}.*reference build"):
        verify(folder)
