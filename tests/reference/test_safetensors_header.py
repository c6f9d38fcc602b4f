"""Whole and cut safetensors files. Oracle: the library that writes them."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from jobs.golden import build_golden
from monitor.errors import GoldenError
from reference.fingerprint import SEAL, verify
from reference.safetensors_header import require_whole
from tests.reference.tiny import save_tiny


def test_whole_files_pass(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"a": np.zeros((3, 5), np.float32), "b": np.ones(7, np.int8)}, path, metadata={"format": "pt"})
    require_whole(path)
    save_file({}, path)
    require_whole(path)


@pytest.mark.parametrize("n_kept", [0, 7, 20, -1])
def test_cut_files_are_refused(tmp_path: Path, n_kept: int) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"a": np.zeros((3, 5), np.float32)}, path)
    path.write_bytes(path.read_bytes()[:n_kept])
    with pytest.raises(GoldenError, match=r"a\.safetensors: .*get it again"):
        require_whole(path)


def test_a_folder_with_cut_weights_is_not_sealed(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "model")
    path = next(folder.glob("*.safetensors"))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(GoldenError, match="its header promises"):
        build_golden(tmp_path, folder, None, None, lambda _: None)
    assert not (folder / SEAL).exists()


@pytest.mark.parametrize(
    "name", ["added_tokens.json", "special_tokens_map.json", "chat_template.json", "model.safetensors.index.json",
             "additional_chat_templates/tool_use.jinja", "extra.safetensors"],
)  # fmt: skip
def test_files_that_change_what_is_loaded_are_noticed_when_they_are_added(tmp_path: Path, name: str) -> None:
    folder = build_golden(tmp_path, save_tiny(tmp_path / "model"), None, None, lambda _: None)
    (folder / "README.md").write_text("others are ignored", "utf-8")
    verify(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("{}", "utf-8")
    with pytest.raises(GoldenError, match="new since the golden folder was built"):
        verify(folder)
