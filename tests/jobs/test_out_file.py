"""Files are replaced whole or not at all."""

from pathlib import Path

import pytest

from jobs.out_file import replace_file


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for data in (b"old, and longer", b"new"):
        replace_file(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_replaced_stays_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    (path / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        replace_file(path, b"new")
    assert list(tmp_path.iterdir()) == [path]
